#include "backend/cuda/driver/plan_gemm.h"

#include <algorithm>

namespace tsl::cuda {

namespace {

/// Describes a matrix (the last two axes) for cuBLASLt. Returns false if it must be copied first.
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
  int64_t expected = -1;  // the batches' strides must be uniform
  for (int i = rank - 3; i >= 0; --i) {
    if (layout.shape[i].hint() == 1) continue;
    if (expected < 0) operand.batch_stride = expected = layout.strides[i].hint();
    if (layout.strides[i].hint() != expected) return false;
    expected *= layout.shape[i].hint();
  }
  return operand.batch_stride >= 0;
}

}  // namespace

PlanGemm::PlanGemm(const graph::Node& node, bool tf32) {
  const Shape& shape = node.shape;
  const int rank = shape.rank();
  gemm_.dtype = node.dtype;
  gemm_.epilogue = node.epilogue;
  gemm_.tf32 = tf32 && node.dtype == DType::f32;
  gemm_.m = shape[rank - 2].hint();
  gemm_.n = shape[rank - 1].hint();
  gemm_.k = node.args[0].layout.shape[rank - 1].hint();
  for (int i = 0; i < rank - 2; ++i) gemm_.batch *= shape[i].hint();
  gemm_.c = {gemm_.n, false, gemm_.m * gemm_.n};
  for (size_t arg = 0; arg < 2; ++arg) {
    const Layout& layout = node.args[arg].layout;
    MatrixOperand& operand = arg == 0 ? gemm_.a : gemm_.b;
    needs_copy_[arg] = !as_operand(layout, operand);
    if (needs_copy_[arg]) as_operand(Layout::contiguous(layout.shape), operand);
  }
}

PlanGemm::PlanGemm(const graph::Plan& plan, const graph::Kernel& kernel, bool tf32)
    : PlanGemm(plan.graph[kernel.op_node], tf32) {
  const std::vector<graph::Arg>& args = plan.graph[kernel.op_node].args;
  constexpr size_t kOperandOf[] = {0, 1, 3};
  for (size_t arg = 0; arg < args.size(); ++arg)
    operands_[kOperandOf[arg]] = {kernel.buffers[arg], args[arg].layout.offset};
  operands_[2] = {kernel.buffers.back(), 0};
}

std::array<uint64_t, 4> PlanGemm::addresses(std::byte* const* buffers, std::span<const Scalar> symbols) const {
  std::array<uint64_t, 4> out{};
  for (size_t i = 0; i < (gemm_.epilogue.bias ? 4u : 3u); ++i) {
    const auto offset = static_cast<uint64_t>(operands_[i].offset.in_run(symbols));
    out[i] = reinterpret_cast<uint64_t>(buffers[operands_[i].buffer]) + offset * size_of(gemm_.dtype);
  }
  return out;
}

}  // namespace tsl::cuda
