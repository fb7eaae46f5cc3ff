#include "backend/cuda/kernels/products/node_gemm.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/integers.h"
#include "exec/address_check.h"
#include "exec/matrix_layout.h"

namespace tsl::cuda {

namespace {

/// Whether elements `stride` apart are aligned at least as well as those `dense` apart, up to 16 bytes.
bool is_aligned_like(int64_t stride, int64_t dense, DType dtype) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  const auto misalignment = [&](int64_t step, int64_t bytes) { return step * size % bytes; };
  for (int64_t bytes = 2; bytes <= 16; bytes *= 2) {
    if (misalignment(stride, bytes) != 0 && misalignment(dense, bytes) == 0) return false;
  }
  return true;
}

/// Describes a matrix (the last two axes) for cuBLASLt. Returns false if it must be copied first.
bool as_operand(const Layout& layout, const exec::MatrixLayout& matrix, DType dtype, MatrixOperand& operand) {
  const int rank = layout.rank();
  const int64_t count = matrix.ordered.shape[rank - 2].hint(), length = matrix.ordered.shape[rank - 1].hint();
  operand = {matrix.stride, matrix.in_columns, 0};
  if (matrix.needs_copy || !is_aligned_like(matrix.stride, length, dtype)) return false;
  std::optional<int64_t> expected;  // the batches' strides must be uniform
  for (int i = rank - 3; i >= 0; --i) {
    if (layout.shape[i].hint() == 1) continue;
    if (!expected) operand.batch_stride = layout.strides[i].hint();
    else if (layout.strides[i].hint() != *expected) return false;
    expected = layout.strides[i].hint() * layout.shape[i].hint();
  }
  return operand.batch_stride >= 0 && is_aligned_like(operand.batch_stride, count * length, dtype);
}

/// Returns the elements of an operand that cuBLASLt accesses.
graph::Reach reach_of(const MatrixOperand& operand, int64_t rows, int64_t columns, int64_t batch) {
  if (operand.transposed) std::swap(rows, columns);
  graph::Reach reach;
  reach.add(batch, operand.batch_stride);
  reach.add(rows, operand.leading);
  reach.add(columns, 1);
  return reach;
}

// ---- Padding ----
// Seconds that rows at multiples of 16 bytes save for each operation: 8192 x 768 x 50257 of bf16 takes 6.7 ms, of 50260
// columns 2.6, of 50264 .89; of f32 rounded to tf32 4.9, 1.7, 1.7 (H200, November 2026).
constexpr double kSavedOfOdd = 6.5e-15, kSavedOfEven = 2.5e-15, kSavedOfTf32 = 5e-15;
constexpr double kCopyRate = 3e12, kCopySeconds = 2.5e-6;  // of copies: bytes a second, and what each takes at least

}  // namespace

std::optional<graph::PaddedProduct> padded_product(const Gemm& gemm) {
  const auto size = static_cast<int64_t>(size_of(gemm.dtype));
  if (size > 4 || (size == 4 && !gemm.tf32)) return {};
  const int64_t unit = 16 / size;
  const auto padded = [&](int64_t extent) { return rounded_up(extent, unit); };
  graph::PaddedProduct larger{gemm.m, padded(gemm.n), gemm.k, gemm.a.transposed, gemm.b.transposed};
  (gemm.a.transposed ? larger.m : larger.k) = padded(gemm.a.transposed ? gemm.m : gemm.k);
  if (gemm.b.transposed) larger.k = padded(gemm.k);
  const bool pads_m = larger.m != gemm.m, pads_n = larger.n != gemm.n, pads_k = larger.k != gemm.k;
  if (!pads_m && !pads_n && !pads_k) return {};
  const auto moved = [&](bool is_copied, int64_t rows, int64_t columns) {
    const double bytes = 2.0 * static_cast<double>(size) * static_cast<double>(rows) * static_cast<double>(columns);
    return is_copied ? kCopySeconds + bytes * static_cast<double>(gemm.batch) / kCopyRate : 0.0;
  };
  const double copies = moved(pads_m || pads_k, larger.m, larger.k) + moved(pads_k || pads_n, larger.k, larger.n) +
                        moved(pads_m || pads_n, gemm.m, gemm.n);
  const bool is_odd = (pads_m && gemm.m % 2 != 0) || (pads_n && gemm.n % 2 != 0) || (pads_k && gemm.k % 2 != 0);
  const double saved = size == 4 ? kSavedOfTf32 : is_odd ? kSavedOfOdd : kSavedOfEven;
  const double operations = 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                            static_cast<double>(gemm.k) * static_cast<double>(gemm.batch);
  return operations * saved > copies ? std::optional(larger) : std::nullopt;
}

NodeGemm::NodeGemm(const graph::Node& node, bool tf32) {
  const Shape& shape = node.shape;
  const int rank = shape.rank();
  gemm_.dtype = node.dtype;
  gemm_.epilogue = node.epilogue;
  gemm_.tf32 = tf32 && node.dtype == DType::f32;
  gemm_.m = shape[rank - 2].hint();
  gemm_.n = shape[rank - 1].hint();
  gemm_.k = node.args[0].layout.shape[rank - 1].hint();
  gemm_.batch = exec::batch_count(shape);
  gemm_.c = {gemm_.n, false, gemm_.m * gemm_.n};
  for (size_t arg = 0; arg < 2; ++arg) {
    const Layout& layout = node.args[arg].layout;
    MatrixOperand& operand = arg == 0 ? gemm_.a : gemm_.b;
    const exec::MatrixLayout matrix = exec::matrix_layout(layout);
    needs_copy_[arg] = !as_operand(layout, matrix, gemm_.dtype, operand);
    if (needs_copy_[arg]) {
      const int64_t length = matrix.ordered.shape[layout.rank() - 1].hint();
      operand = {length, matrix.in_columns, length * matrix.ordered.shape[layout.rank() - 2].hint()};
    } else if (exec::checks_addresses() && !is_empty() && gemm_.k > 0) {
      const int64_t rows = arg == 0 ? gemm_.m : gemm_.k, columns = arg == 0 ? gemm_.k : gemm_.n;
      exec::check_library_operand(layout, reach_of(operand, rows, columns, gemm_.batch));
    }
  }
}

}  // namespace tsl::cuda
