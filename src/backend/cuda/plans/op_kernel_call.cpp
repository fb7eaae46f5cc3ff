#include "backend/cuda/plans/op_kernel_call.h"

#include <algorithm>
#include <limits>

#include "backend/cuda/driver/moves.h"
#include "backend/cuda/plans/executable.h"
#include "graph/compile.h"

namespace tsl::cuda {

using graph::Kernel;
using graph::Node;
using graph::Plan;

namespace {

constexpr int64_t kNoneFailed = std::numeric_limits<int64_t>::max();

/// Prepares the plan of a copy without gaps. Runs differ in the offset alone, which the operand's address includes.
std::unique_ptr<exec::Executable> copy_plan(Gpu& gpu, DType dtype, const Layout& layout) {
  graph::Graph graph;
  graph::Arg from;
  from.node = graph.add_input(dtype, layout);
  from.layout = layout;
  const graph::NodeId copy = graph.add(op_def(Op::copy), {from}, {}, {dtype, layout.shape}, {}, 0);
  graph.outputs.push_back({copy, Layout::contiguous(layout.shape)});
  return prepare_plan(gpu, graph::compile(std::move(graph)));
}

}  // namespace

OpKernelCall::OpKernelCall(Gpu& gpu, const Plan& plan, const Kernel& kernel, std::unique_ptr<exec::OpKernel> op_kernel)
    : gpu_(gpu),
      op_kernel_(std::move(op_kernel)),
      own_(dynamic_cast<OwnOpKernel*>(op_kernel_.get())),
      node_(kernel.op_node) {
  const Node& node = plan.graph[kernel.op_node];
  order_ = node.order;
  for (const graph::Arg& arg : node.args) {
    if (!arg.is_tensor()) continue;
    const size_t i = operands_.size();
    Operand& operand = operands_.emplace_back();
    operand.buffer = kernel.buffers[i];
    operand.layout = arg.layout;
    operand.dtype = plan.graph[arg.node].dtype;
    const Layout* const order = op_kernel_->order_of(i, arg.layout);
    if (!order || without_symbols(*order).is_contiguous()) continue;
    operand.order = without_symbols(*order);
    operand.order.offset = 0;
    operand.copy = copy_plan(gpu, operand.dtype, operand.order);
  }
  for (int result = 0; result < node.def().results; ++result) {
    const std::optional<uint32_t> at = graph::position_of_result(kernel, result);
    results_.push_back(at ? std::optional(kernel.buffers[*at]) : std::nullopt);
  }
  operand_addresses_.resize(operands_.size());
  result_addresses_.resize(results_.size());
  if (!node.may_fail()) return;
  failed_ = gpu.allocator.allocate(sizeof kNoneFailed);
  gpu.device.copy_to_device(address_of(failed_->data()), &kNoneFailed, sizeof kNoneFailed);
}

OpKernelCall::~OpKernelCall() = default;

bool OpKernelCall::is_recordable() const { return op_kernel_->is_recordable() && !copies_operands(); }

bool OpKernelCall::copies_operands() const {
  return std::any_of(operands_.begin(), operands_.end(),
                     [](const Operand& operand) { return operand.copy != nullptr; });
}

std::vector<exec::LoadedKernel> OpKernelCall::describe(uint32_t launch) const {
  std::vector<exec::LoadedKernel> kernels;
  if (is_launched_by_kernels()) kernels = own_->describe();
  else kernels.emplace_back().name = name();
  for (exec::LoadedKernel& kernel : kernels) kernel.launch = launch;
  return kernels;
}

GeneratedKernels OpKernelCall::failure_report() const {
  GeneratedKernels generated;
  if (!failed_) return generated;
  CudaKernel& kernel = generated.kernels.emplace_back();
  kernel.readable = "k_report_failure";
  kernel.text.header = "// reports what failed in a library\n";
  kernel.text.bounds = "__launch_bounds__(1)";
  kernel.text.parameters = "ErrorCell* error, i64* failed, const i64 order, const i64 node";
  kernel.text.body = fmt::format(
      "  const i64 element = *failed;\n"
      "  if (element == {0}) return;\n"
      "  *failed = {0};\n"
      "  report(error, (unsigned)order, (unsigned)node, element, element);\n",
      kNoneFailed);
  kernel.arguments.emplace_back().kind = KernelArg::Kind::error;
  for (const uint64_t value : {address_of(failed_->data()), CUdeviceptr{order_}, CUdeviceptr{node_}}) {
    KernelArg& argument = kernel.arguments.emplace_back();
    argument.kind = KernelArg::Kind::integer;
    argument.value = static_cast<int64_t>(value);
  }
  return generated;
}

void OpKernelCall::reserve_copies() {
  for (Operand& operand : operands_) {
    if (!operand.copy) continue;
    const auto count = static_cast<uint64_t>(element_count(operand.order.shape).hint());
    operand.reserved = gpu_.allocator.allocate(count * size_of(operand.dtype));
  }
}

void OpKernelCall::bind(KernelCall& call, std::byte* const* buffers, std::span<const Scalar> symbols,
                        CUdeviceptr workspace) const {
  call.values.resize(operands_.size() + results_.size() + 1);
  uint32_t word = 0;
  for (const Operand& operand : operands_) {
    const auto offset = static_cast<uint64_t>(operand.layout.offset.in_run(symbols));
    call.set(word++, address_of(buffers[operand.buffer]) + offset * size_of(operand.dtype));
  }
  for (const std::optional<uint32_t>& buffer : results_) call.set(word++, buffer ? address_of(buffers[*buffer]) : 0);
  call.set(word, workspace);
}

/// Replaces the addresses of operands that must be copied by those of copies, which this makes.
void OpKernelCall::copy_operands(std::vector<Tensor>& copies) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    Operand& operand = operands_[i];
    if (!operand.copy) continue;
    operand.reserved = nullptr;
    const Tensor in = borrow(gpu_, operand.dtype, operand.order, const_cast<std::byte*>(operand_addresses_[i]));
    Tensor& copy = copies.emplace_back();
    operand.copy->run({&in, 1}, {}, {}, {&copy, 1});
    operand_addresses_[i] = copy.data();
  }
}

/// Returns the call with the values of bind(), in memory of this object.
exec::OpCall OpKernelCall::call_of(const std::vector<uint64_t>& values) {
  for (size_t i = 0; i < operands_.size(); ++i) operand_addresses_[i] = reinterpret_cast<const std::byte*>(values[i]);
  for (size_t i = 0; i < results_.size(); ++i)
    result_addresses_[i] = reinterpret_cast<std::byte*>(values[operands_.size() + i]);
  return {operand_addresses_, result_addresses_, reinterpret_cast<std::byte*>(values.back()), nullptr,
          failed_ ? static_cast<std::byte*>(failed_->data()) : nullptr};
}

void OpKernelCall::enqueue(const std::vector<uint64_t>& values) {
  const exec::OpCall call = call_of(values);
  std::vector<Tensor> copies;  // the stream's next user of their memory comes after the library
  copy_operands(copies);
  op_kernel_->run(call);
}

void* OpKernelCall::make(const std::vector<uint64_t>& values) { return own_->arguments(call_of(values)); }

bool OpKernelCall::can_record(const std::vector<uint64_t>& values) { return op_kernel_->can_record(call_of(values)); }

}  // namespace tsl::cuda
