#include "backend/cpu/matmul.h"

#include <cblas.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/fill.h"

namespace tsl::cpu {

namespace {

// The least multiplications per thread for which another thread pays off.
constexpr int64_t kPanelWork = 256 * 1024;

/// A matrix in BLAS's form: row-major, possibly transposed, with rows `stride` apart.
struct Matrix {
  const std::byte* data;
  bool transposed;
  int64_t stride;
  std::vector<int64_t> batch;  // offset of each batch, in elements
};

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

/// Describes the operand for BLAS, or copies it first. The choice depends on the layout alone, so eager and compiled
/// runs agree.
Matrix matrix_of(OpRun& run, int arg, bool in_place) {
  const Layout& layout = run.layout(arg);
  const int rank = layout.rank();
  const int64_t rows = layout.shape[rank - 2].hint(), columns = layout.shape[rank - 1].hint();
  const int64_t down = layout.strides[rank - 2].hint(), across = layout.strides[rank - 1].hint();
  if (in_place && (across == 1 || columns == 1) && down >= std::max<int64_t>(columns, 1)) {
    return {run.data(arg), false, down, batch_offsets(layout)};
  }
  if (in_place && (down == 1 || rows == 1) && across >= std::max<int64_t>(rows, 1)) {
    return {run.data(arg), true, across, batch_offsets(layout)};
  }
  return {run.in_order(arg), false, std::max<int64_t>(columns, 1), batch_offsets(Layout::contiguous(layout.shape))};
}

/// Converts the operand to another dtype, in row-major order.
Matrix converted(OpRun& run, int arg, DType to) {
  const Shape& shape = run.layout(arg).shape;
  const std::byte* in = run.in_order(arg);
  const size_t count = static_cast<size_t>(element_count(shape).hint());
  std::byte* out = run.temporary(count * size_of(to));
  const void* operands[1] = {in};
  run.backend.table().cast[static_cast<int>(run.dtype(arg))][static_cast<int>(to)](out, operands, count);
  return {out, false, std::max<int64_t>(shape[shape.rank() - 1].hint(), 1), batch_offsets(Layout::contiguous(shape))};
}

struct Panel {
  int64_t batch, row, rows, column, columns;
};

/// Divides the products along their longer side, for all threads.
std::vector<Panel> cut(int64_t batches, int64_t m, int64_t n, int64_t k, int threads) {
  std::vector<Panel> panels;
  int64_t parts = std::clamp<int64_t>(m * n * k / kPanelWork, 1, threads);
  if (batches >= threads) parts = 1;
  const int64_t side = std::max(m, n);
  parts = std::min(parts, std::max<int64_t>(side / 16, 1));
  const int64_t step = ((side + parts - 1) / parts + 15) / 16 * 16;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t at = 0; at < side; at += step) {
      const int64_t size = std::min(step, side - at);
      if (m >= n) panels.push_back({b, at, size, 0, n});
      else panels.push_back({b, 0, m, at, size});
    }
  }
  return panels;
}

template <class T, class Gemm> void multiply_panel(const Matrix& a, const Matrix& b, T* out, const Panel& p, int64_t m,
                                                   int64_t n, int64_t k, Gemm gemm) {
  const T* x = reinterpret_cast<const T*>(a.data) + a.batch[p.batch] + p.row * (a.transposed ? 1 : a.stride);
  const T* y = reinterpret_cast<const T*>(b.data) + b.batch[p.batch] + p.column * (b.transposed ? b.stride : 1);
  T* z = out + p.batch * m * n + p.row * n + p.column;
  gemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans,
       static_cast<int>(p.rows), static_cast<int>(p.columns), static_cast<int>(k), T(1), x, static_cast<int>(a.stride),
       y, static_cast<int>(b.stride), T(0), z, static_cast<int>(n));
}

void multiply_integers(const Matrix& a, const Matrix& b, int64_t* out, int64_t batches, int64_t m, int64_t n,
                       int64_t k) {
  const uint64_t* x = reinterpret_cast<const uint64_t*>(a.data);  // unsigned: overflow wraps around
  const uint64_t* y = reinterpret_cast<const uint64_t*>(b.data);
  for (int64_t i = 0; i < batches * m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
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
  const DType compute = dtype == DType::f64 ? DType::f64 : is_float(dtype) ? DType::f32 : DType::i64;
  const bool in_place = compute == dtype && compute != DType::i64;
  const Matrix a = in_place           ? matrix_of(run, 0, true)
                   : compute == dtype ? matrix_of(run, 0, false)
                                      : converted(run, 0, compute);
  const Matrix b = in_place           ? matrix_of(run, 1, true)
                   : compute == dtype ? matrix_of(run, 1, false)
                                      : converted(run, 1, compute);
  const uint64_t count = static_cast<uint64_t>(batches * m * n);
  std::byte* out = compute == dtype ? run.out : run.temporary(count * size_of(compute));
  if (compute == DType::i64) {
    multiply_integers(a, b, reinterpret_cast<int64_t*>(out), batches, m, n, k);
  } else {
    const std::vector<Panel> panels = cut(batches, m, n, k, run.state.pool->size());
    const bool parallel = m * n * k * batches >= kPanelWork;
    auto multiply = [&](int64_t i, int) {
      if (compute == DType::f32) multiply_panel(a, b, reinterpret_cast<float*>(out), panels[i], m, n, k, cblas_sgemm);
      else multiply_panel(a, b, reinterpret_cast<double*>(out), panels[i], m, n, k, cblas_dgemm);
    };
    if (parallel) run.state.pool->parallel_for(static_cast<int64_t>(panels.size()), multiply);
    else
      for (size_t i = 0; i < panels.size(); ++i) multiply(static_cast<int64_t>(i), 0);
  }
  if (out == run.out) return;
  const void* operands[1] = {out};
  run.backend.table().cast[static_cast<int>(compute)][static_cast<int>(dtype)](run.out, operands, count);
}

}  // namespace tsl::cpu
