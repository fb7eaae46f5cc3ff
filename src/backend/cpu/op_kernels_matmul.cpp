// Matrix products: BLAS for floats, loops for integers.

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cpu/blas.h"
#include "backend/cpu/op_kernels.h"
#include "base/run_watch.h"
#include "exec/address_check.h"
#include "exec/matrix_layout.h"

namespace tsl::cpu {

namespace {

/// Returns the offset of each batch from the operand's first element, in order.
std::vector<int64_t> batch_offsets(const Layout& layout) {
  std::vector<int64_t> offsets = {0};
  for (int i = 0; i < layout.rank() - 2; ++i) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * layout.shape[i].hint());
    for (int64_t offset : offsets) {
      for (int64_t k = 0; k < layout.shape[i].hint(); ++k) next.push_back(offset + k * layout.strides[i].hint());
    }
    offsets = std::move(next);
  }
  return offsets;
}

/// Checks that BLAS reads no element that the operand's layout does not reach.
Matrix checked(Matrix matrix, const Layout& layout) {
  const int rank = layout.rank();
  int64_t rows = layout.shape[rank - 2].hint(), columns = layout.shape[rank - 1].hint();
  if (!exec::checks_addresses() || rows * columns * static_cast<int64_t>(matrix.batch.size()) == 0) return matrix;
  if (matrix.transposed) std::swap(rows, columns);
  const auto [first, last] = std::minmax_element(matrix.batch.begin(), matrix.batch.end());
  exec::check_library_operand(layout, {*first, *last + (rows - 1) * matrix.stride + columns - 1});
  return matrix;
}

/// Describes the operand for BLAS, or copies it first. The choice depends on the layout alone, so eager and compiled
/// runs agree.
Matrix matrix_of(OpRun& run, int arg) {
  const Layout& layout = run.layout(arg);
  const exec::MatrixLayout matrix = exec::matrix_layout(layout);
  const int64_t dense = std::max<int64_t>(matrix.ordered.shape[layout.rank() - 1].hint(), 1);
  const bool is_too_far = matrix.stride > kMaxBlasExtent && matrix.stride > dense;
  if (!matrix.needs_copy && !is_too_far)
    return checked({run.data(arg), matrix.in_columns, matrix.stride, batch_offsets(layout)}, layout);
  return {run.in_order(arg, matrix.ordered), matrix.in_columns, dense, batch_offsets(Layout::contiguous(layout.shape))};
}

/// Copies the operand into row-major order if necessary.
Matrix matrix_in_rows(OpRun& run, int arg) {
  const Shape& shape = run.layout(arg).shape;
  return {run.in_order(arg), false, std::max<int64_t>(shape[shape.rank() - 1].hint(), 1),
          batch_offsets(Layout::contiguous(shape))};
}

void cast_parts(OpRun& run, std::byte* out, DType to, const std::byte* in, DType from, int64_t count) {
  const MapKernel cast = run.backend.table().cast[static_cast<int>(from)][static_cast<int>(to)];
  in_parts(count, [&](int64_t first, int64_t part) {
    const void* operands[1] = {in + first * static_cast<int64_t>(size_of(from))};
    cast(out + first * static_cast<int64_t>(size_of(to)), operands, static_cast<size_t>(part));
  });
}

/// Converts the operand to another dtype, in row-major order.
Matrix converted(OpRun& run, int arg, DType to) {
  const Shape& shape = run.layout(arg).shape;
  const std::byte* in = run.in_order(arg);
  const size_t count = static_cast<size_t>(element_count(shape).hint());
  std::byte* out = run.temporary(count * size_of(to));
  cast_parts(run, out, to, in, run.dtype(arg), static_cast<int64_t>(count));
  return {out, false, std::max<int64_t>(shape[shape.rank() - 1].hint(), 1), batch_offsets(Layout::contiguous(shape))};
}

void multiply_integers(const Matrix& a, const Matrix& b, int64_t* out, int64_t batches, int64_t m, int64_t n,
                       int64_t k) {
  const uint64_t* x = reinterpret_cast<const uint64_t*>(a.data);  // unsigned: overflow wraps around
  const uint64_t* y = reinterpret_cast<const uint64_t*>(b.data);
  StopMeter meter;
  for (int64_t i = 0; i < batches * m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      meter.count(k);
      uint64_t sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += x[i * k + l] * y[(i / m * k + l) * n + j];
      out[i * n + j] = static_cast<int64_t>(sum);
    }
  }
}

}  // namespace

void run_matmul(OpRun& run) {
  const Shape& shape = run.node.shape;
  const int rank = shape.rank();
  const int64_t m = shape[rank - 2].hint(), n = shape[rank - 1].hint();
  const int64_t k = run.layout(0).shape[rank - 1].hint();
  int64_t batches = 1;
  for (int i = 0; i < rank - 2; ++i) batches *= shape[i].hint();
  if (batches * m * n == 0) return;
  if (k == 0) {
    fill_identity(run.out, Op::sum, run.node.dtype, batches * m * n);
    return;
  }
  const DType dtype = run.node.dtype;
  const DType compute = accumulator_of(dtype);
  const bool in_place = compute == dtype && compute != DType::i64;
  const Matrix a = in_place           ? matrix_of(run, 0)
                   : compute == dtype ? matrix_in_rows(run, 0)
                                      : converted(run, 0, compute);
  const Matrix b = in_place           ? matrix_of(run, 1)
                   : compute == dtype ? matrix_in_rows(run, 1)
                                      : converted(run, 1, compute);
  const uint64_t count = static_cast<uint64_t>(batches * m * n);
  std::byte* out = compute == dtype ? run.out : run.temporary(count * size_of(compute));
  if (compute == DType::i64) {
    multiply_integers(a, b, reinterpret_cast<int64_t*>(out), batches, m, n, k);
  } else {
    const Product product{batches, m, n, k, a, b, out};
    if (compute == DType::f32) multiply<float>(product, *run.state.pool);
    else multiply<double>(product, *run.state.pool);
  }
  if (out == run.out) return;
  cast_parts(run, run.out, dtype, out, compute, static_cast<int64_t>(count));
}

}  // namespace tsl::cpu
