#include "backend/cpu/products/blas.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/products/thread_memory.h"
#include "base/count_work.h"
#include "base/run_watch.h"

extern "C" {
/// Concatenates two strings of Fortran, which is all that LAPACK needs of its runtime.
void concat_string(size_t size, char* to, size_t a_size, const char* a, size_t b_size,
                   const char* b) __asm__("_gfortran_concat_string");
void concat_string(size_t size, char* to, size_t a_size, const char* a, size_t b_size, const char* b) {
  std::memset(to, ' ', size);
  std::memcpy(to, a, std::min(a_size, size));
  if (a_size < size) std::memcpy(to + a_size, b, std::min(b_size, size - a_size));
}
}

namespace tsl::cpu {

namespace {

/// The most multiply-adds of a call of BLAS, which cannot be interrupted: some 10 ms of a slow core. Longer
/// sums are cut: panels have at most some 1024 rows and columns, so a part has 256 products, which BLAS takes at a
/// time.
constexpr int64_t kCallWork = int64_t{1} << 28;

int64_t address(const Matrix& matrix, int64_t row, int64_t column) {
  return matrix.transposed ? column * matrix.stride + row : row * matrix.stride + column;
}

template <class T> const T* elements(const Matrix& matrix, int64_t batch) {
  return reinterpret_cast<const T*>(matrix.data) + matrix.batch[batch];
}

/// Computes a part of the sums of a panel, `count` products from the `first`, into c.
template <class T> void multiply_part(const Product& p, const Panel& panel, int64_t first, int64_t count, T beta, T* c,
                                      int64_t c_stride, int64_t max_extent) {
  const auto fitting = [&](int64_t stride) { return static_cast<int>(std::min(stride, max_extent)); };
  gemm(p.a.transposed ? CblasTrans : CblasNoTrans, p.b.transposed ? CblasTrans : CblasNoTrans,
       static_cast<int>(panel.rows), static_cast<int>(panel.columns), static_cast<int>(count),
       elements<T>(p.a, panel.batch) + address(p.a, panel.row, first), fitting(p.a.stride),
       elements<T>(p.b, panel.batch) + address(p.b, first, panel.column), fitting(p.b.stride), beta, c,
       fitting(c_stride));
}

/// The most products of a sum that a call adds up.
int64_t sums_of_call(const Panel& panel, int64_t max_extent) {
  constexpr int64_t kFewest = 256;
  return std::min(std::max(kCallWork / (panel.rows * panel.columns), kFewest), max_extent);
}

/// Computes a panel. Where its sums exceed what a call takes, adds up the sums of the parts: a part that is added to a
/// large sum number by number would be rounded away.
template <class T> void multiply_panel(const Product& p, const Panel& panel, int64_t max_extent) {
  T* const c = reinterpret_cast<T*>(p.c) + panel.batch * p.m * p.n + panel.row * p.n + panel.column;
  const bool by_one =
      (p.a.transposed && needs_single_rows(p.a, max_extent)) || (!p.b.transposed && needs_single_rows(p.b, max_extent));
  if (by_one) {
    for (int64_t at = 0; at < p.k; ++at) {
      multiply_part<T>(p, panel, at, 1, at == 0 ? T(0) : T(1), c, p.n, max_extent);
      count_work(panel.rows * panel.columns);
    }
    return;
  }
  const int64_t length = sums_of_call(panel, max_extent);
  multiply_part<T>(p, panel, 0, std::min(length, p.k), 0, c, p.n, max_extent);
  std::vector<T> part(p.k > length ? static_cast<size_t>(panel.rows * panel.columns) : 0);
  for (int64_t at = length; at < p.k; at += length) {
    poll_stop();
    multiply_part<T>(p, panel, at, std::min(length, p.k - at), 0, part.data(), panel.columns, max_extent);
    for (int64_t i = 0; i < panel.rows * panel.columns; ++i)
      c[i / panel.columns * p.n + i % panel.columns] += part[static_cast<size_t>(i)];
  }
}

}  // namespace

template <class T> void multiply_by_blas(const Product& p, ThreadPool& pool, int64_t max_extent) {
  const Panels panels = panels_of(p, max_extent);
  const int64_t count = panels.size();
  auto run = [&](int64_t i) { multiply_panel<T>(p, panels[i], max_extent); };
  if (is_worth_threads(p)) {
    return pool.parallel_for(count, [&](int64_t i, int) {
      const ThreadMemory memory;
      run(i);
    });
  }
  const ThreadMemory memory;
  for (int64_t i = 0; i < count; ++i) {
    run(i);
    count_work(static_cast<int64_t>(work_of(p)));
  }
}

template void multiply_by_blas<float>(const Product&, ThreadPool&, int64_t);
template void multiply_by_blas<double>(const Product&, ThreadPool&, int64_t);

}  // namespace tsl::cpu
