// Ops with kernels of their own: products by cuBLASLt; those that have no kernel yet run on the host, between copies.
#include "backend/cuda/executable.h"
#include "base/error.h"

namespace tsl::cuda {

using graph::Kernel;
using graph::Node;
using graph::Plan;
using graph::RunError;

namespace {

/// One call of such an op: its operands in memory.
struct OpCall {
  Gpu& gpu;
  const Plan& plan;
  const Kernel& kernel;
  std::byte* const* addresses;
  std::span<const Scalar> symbols;
  const Node& node;

  DType dtype(size_t arg) const { return plan.graph[node.args[arg].node].dtype; }
  /// With the offset of this run.
  Layout layout(size_t arg) const { return in_run(node.args[arg].layout, symbols); }
  std::byte* out() const { return addresses[kernel.buffers.back()]; }
  /// The address of the operand's buffer.
  std::byte* base(size_t arg) const {
    size_t position = 0;
    for (size_t i = 0; i < arg; ++i) position += node.args[i].is_tensor();
    return addresses[kernel.buffers[position]];
  }
};

// ---- Products ------------------------------------------------------------------------------------------

/// A matrix (the last two axes) as cuBLASLt takes it, or nothing if it must be copied first. Which layouts go as they
/// are depends on the layout alone, so that eager and compiled agree.
bool as_operand(const Layout& layout, MatrixOperand& operand) {
  const int rank = layout.rank();
  const int64_t rows = layout.shape[rank - 2].hint(), columns = layout.shape[rank - 1].hint();
  const int64_t down = layout.strides[rank - 2].hint(), across = layout.strides[rank - 1].hint();
  if ((across == 1 || columns == 1) && down >= std::max<int64_t>(columns, 1)) {
    operand = {down, false, 0};
  } else if ((down == 1 || rows == 1) && across >= std::max<int64_t>(rows, 1)) {
    operand = {across, true, 0};
  } else {
    return false;
  }
  int64_t expected = -1;  // batches must be equally far apart
  for (int i = rank - 3; i >= 0; --i) {
    if (layout.shape[i].hint() == 1) continue;
    if (expected < 0) operand.batch_stride = expected = layout.strides[i].hint();
    if (layout.strides[i].hint() != expected) return false;
    expected *= layout.shape[i].hint();
  }
  return operand.batch_stride >= 0;
}

class ProductCall {
 public:
  explicit ProductCall(const OpCall& call) : call_(call) {}

  void run() {
    const Shape& shape = call_.node.shape;
    const int rank = shape.rank();
    product_.dtype = call_.node.dtype;
    product_.m = shape[rank - 2].hint();
    product_.n = shape[rank - 1].hint();
    product_.k = call_.layout(0).shape[rank - 1].hint();
    for (int i = 0; i < rank - 2; ++i) product_.batch *= shape[i].hint();
    if (product_.m * product_.n * product_.batch == 0) return;
    const CUdeviceptr a = operand(0, product_.a), b = operand(1, product_.b);
    product_.c = {product_.n, false, product_.m * product_.n};
    call_.gpu.matmul().run(product_, a, b, address_of(call_.out()));
  }

 private:
  CUdeviceptr operand(size_t arg, MatrixOperand& operand) {
    const Layout layout = call_.layout(arg);
    if (as_operand(layout, operand)) {
      return address_of(call_.base(arg)) + static_cast<uint64_t>(layout.offset.hint()) * size_of(call_.dtype(arg));
    }
    copies_[arg] = contiguous(call_.base(arg), layout, call_.dtype(arg));
    as_operand(Layout::contiguous(layout.shape), operand);
    return address_of(copies_[arg].data());
  }

  /// A copy in row-major order, by a plan of one op.
  Tensor contiguous(std::byte* base, const Layout& layout, DType dtype) {
    graph::Graph graph;
    const graph::NodeId input = graph.add_input(dtype, layout);
    graph::Arg arg;
    arg.node = input;
    arg.layout = layout;
    arg.layout.offset = 0;
    const graph::NodeId copy = graph.add(op_def(Op::copy), {arg}, {}, {dtype, layout.shape}, {}, 0);
    graph.outputs.push_back({copy, Layout::contiguous(layout.shape)});
    Layout at = layout;
    const Tensor in(dtype, at, Ref<Storage>(new Storage(nullptr, base, 0, tsl::Device{tsl::Device::Kind::cuda, 0})));
    Tensor out;
    prepare_plan(call_.gpu, graph::compile(std::move(graph)))->run({&in, 1}, {}, {}, {&out, 1});
    return out;
  }

  const OpCall& call_;
  Product product_;
  Tensor copies_[2];
};

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
      const Tensor on_device(call.dtype(i), layout,
                             Ref<Storage>(new Storage(nullptr, call.base(i), 0, tsl::Device{tsl::Device::Kind::cuda, 0})));
      inputs.push_back(move_to_host(call.gpu, on_device));
      arg.node = graph.add_input(call.dtype(i), layout);
      arg.layout = layout;
      arg.layout.offset = 0;
    }
    args.push_back(std::move(arg));
  }
  const TensorType type{call.node.dtype, call.node.shape};
  const graph::NodeId node = graph.add(call.node.def(), std::move(args), call.node.attrs, type, call.node.span, call.node.order);
  graph.outputs.push_back({node, Layout::contiguous(type.shape)});
  Tensor out;
  RunError error = call.gpu.host.prepare(graph::compile(std::move(graph)))->run(inputs, {}, call.symbols, {&out, 1});
  if (error) {
    error.node = call.kernel.op_node;
    return error;
  }
  const int64_t count = element_count(type.shape).hint();
  if (count > 0) {
    call.gpu.device.copy_to_device(address_of(call.out()), out.data(), static_cast<uint64_t>(count) * size_of(type.dtype));
  }
  return {};
}

}  // namespace

RunError run_op(Gpu& gpu, const Plan& plan, const Kernel& kernel, std::byte* const* addresses, std::span<const Scalar> symbols) {
  const OpCall call{gpu, plan, kernel, addresses, symbols, plan.graph[kernel.op_node]};
  if (call.node.op == Op::matmul && is_float(call.node.dtype)) {
    ProductCall(call).run();
    return {};
  }
  return run_on_host(call);
}

}  // namespace tsl::cuda
