#include "backend/cuda/driver/host_op.h"

#include "backend/cuda/driver/moves.h"
#include "graph/compile.h"

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
  /// Returns the operand as a tensor, which borrows the memory that its layout reaches.
  Tensor operand(size_t arg) const {
    const Layout layout = this->layout(arg);
    const auto size = static_cast<int64_t>(size_of(dtype(arg)));
    return borrow(gpu, dtype(arg), layout, base(arg) + layout.offset.hint() * size);
  }
};

}  // namespace

RunError run_on_host(Gpu& gpu, const Plan& plan, const Kernel& kernel, std::byte* const* addresses,
                     std::span<const Scalar> symbols) {
  const OpCall call{gpu, plan, kernel, addresses, symbols, plan.graph[kernel.op_node]};
  graph::Graph graph;
  std::vector<graph::Arg> args;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.node.args.size(); ++i) {
    graph::Arg arg = call.node.args[i];
    arg.symbol = nullptr;
    if (call.node.args[i].symbol) arg.scalar = call.symbols[call.node.args[i].symbol->id];
    if (arg.is_tensor()) {
      const Layout layout = call.layout(i);
      inputs.push_back(move_to_host(call.gpu, call.operand(i)));
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

}  // namespace tsl::cuda
