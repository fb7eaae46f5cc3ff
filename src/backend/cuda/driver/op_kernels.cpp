#include "backend/cuda/driver/op_kernels.h"

#include <cassert>
#include <optional>

#include "backend/cuda/driver/executable.h"
#include "backend/cuda/driver/moves.h"
#include "backend/cuda/driver/plan_gemm.h"
#include "exec/matrix_layout.h"
#include "graph/compile.h"
#include "graph/reach.h"

namespace tsl::cuda {

using exec::RunError;
using graph::Kernel;
using graph::Node;
using graph::Plan;

namespace {

/// One call of an op without generated kernels, with its operands in memory.
struct OpCall {
  Gpu& gpu;
  const Plan& plan;
  const Kernel& kernel;
  std::byte* const* addresses;
  std::span<const Scalar> symbols;
  OperandCopies& copies;
  const Node& node;

  DType dtype(size_t arg) const { return plan.graph[node.args[arg].node].dtype; }
  /// Returns the operand's layout with the offset of this run.
  Layout layout(size_t arg) const { return in_run(node.args[arg].layout, symbols); }
  /// Returns the address of the operand's buffer.
  std::byte* base(size_t arg) const {
    size_t position = 0;
    for (size_t i = 0; i < arg; ++i) position += node.args[i].is_tensor();
    return addresses[kernel.buffers[position]];
  }
  /// Returns the operand as a tensor with this layout, which borrows the memory that the layout reaches.
  Tensor borrowed(size_t arg, const Layout& layout) const {
    const auto size = static_cast<int64_t>(size_of(dtype(arg)));
    const std::optional<graph::Reach> reach = graph::reach_of(layout);
    const int64_t first = reach ? reach->first : 0, count = reach ? reach->last - first + 1 : 0;
    std::byte* begin = base(arg) + (layout.offset.hint() + first) * size;
    Layout in_memory = layout;
    in_memory.offset = -first;
    const size_t bytes = static_cast<size_t>(count * size);
    return {dtype(arg), in_memory, Ref<Storage>(new Storage(nullptr, begin, bytes, name_of(gpu.device)))};
  }
};

// ---- Products ------------------------------------------------------------------------------------------

/// Prepares the plan of a copy without gaps.
std::unique_ptr<exec::Executable> copy_plan(Gpu& gpu, DType dtype, Layout layout) {
  layout.offset = 0;
  graph::Graph graph;
  graph::Arg from;
  from.node = graph.add_input(dtype, layout);
  from.layout = layout;
  const graph::NodeId copy = graph.add(op_def(Op::copy), {from}, {}, {dtype, layout.shape}, {}, 0);
  graph.outputs.push_back({copy, Layout::contiguous(layout.shape)});
  return prepare_plan(gpu, graph::compile(std::move(graph)));
}

/// Copies operand `arg` without gaps. Its matrices keep their order, of rows or of columns.
Tensor contiguous(const OpCall& call, size_t arg) {
  const Layout layout = exec::matrix_layout(call.layout(arg)).ordered;
  std::unique_ptr<exec::Executable>& plan = call.copies.plans[arg];
  if (!plan) plan = copy_plan(call.gpu, call.dtype(arg), layout);  // runs differ in the offset alone
  const Tensor in = call.borrowed(arg, layout);
  Tensor out;
  plan->run({&in, 1}, {}, {}, {&out, 1});
  return out;
}

/// Runs products whose operands must be copied first, and those over no elements.
void run_gemm(const OpCall& call) {
  const PlanGemm gemm(call.plan, call.kernel, call.gpu.options.tf32);
  assert(!gemm.gemm().epilogue.bias);  // a product with a bias is always a single call
  if (gemm.is_empty()) return;
  std::array<uint64_t, 4> at = gemm.addresses(call.addresses, call.symbols);
  Tensor copies[2];
  for (size_t arg = 0; arg < 2; ++arg) {
    if (!gemm.needs_copy(arg)) continue;
    copies[arg] = contiguous(call, arg);
    at[arg] = address_of(copies[arg].data());
  }
  call.gpu.matmul().run(gemm.gemm(), at[0], at[1], at[2]);
}

// ---- On the host ---------------------------------------------------------------------------------------

RunError run_on_host(const OpCall& call) {
  graph::Graph graph;
  std::vector<graph::Arg> args;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.node.args.size(); ++i) {
    graph::Arg arg = call.node.args[i];
    arg.symbol = nullptr;
    if (call.node.args[i].symbol) arg.scalar = call.symbols[call.node.args[i].symbol->id];
    if (arg.is_tensor()) {
      const Layout layout = call.layout(i);
      inputs.push_back(move_to_host(call.gpu, call.borrowed(i, layout)));
      arg.node = graph.add_input(call.dtype(i), layout);
      arg.layout = layout;
      arg.layout.offset = 0;
    }
    args.push_back(std::move(arg));
  }
  const TensorType type{call.node.dtype, call.node.shape};
  const graph::NodeId node =
      graph.add(call.node.def(), std::move(args), call.node.attrs, type, call.node.span, call.node.order);
  const std::span<const uint32_t> written = graph::written_by(call.kernel);
  for (size_t i = 0; i < written.size(); ++i) {
    const Node& of = call.plan.graph[call.plan.buffers[written[i]].node];
    const graph::NodeId result =
        of.is_result() ? graph.add_result(node, call.kernel.results[i], {of.dtype, of.shape}) : node;
    graph.outputs.push_back({result, Layout::contiguous(of.shape)});
  }
  std::vector<Tensor> results(graph.outputs.size());
  RunError error = call.gpu.host.prepare(graph::compile(std::move(graph)))->run(inputs, {}, call.symbols, results);
  if (error) {
    error.node = call.kernel.op_node;
    return error;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const auto bytes = static_cast<uint64_t>(element_count(results[i].shape()).hint()) * size_of(results[i].dtype());
    if (bytes > 0) call.gpu.device.copy_to_device(address_of(call.addresses[written[i]]), results[i].data(), bytes);
  }
  return {};
}

}  // namespace

RunError run_op(Gpu& gpu, const Plan& plan, const Kernel& kernel, std::byte* const* addresses,
                std::span<const Scalar> symbols, OperandCopies& copies) {
  const OpCall call{gpu, plan, kernel, addresses, symbols, copies, plan.graph[kernel.op_node]};
  if (call.node.op == Op::matmul && is_float(call.node.dtype)) {
    run_gemm(call);
    return {};
  }
  return run_on_host(call);
}

}  // namespace tsl::cuda
