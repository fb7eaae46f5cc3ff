// Products of float matrices by BLAS, in panels. The panels are a function of the product's shape alone, because the
// order in which BLAS adds depends on the extents of a call: so results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/threads.h"

namespace tsl::cpu {

/// A matrix as BLAS sees it: row-major, possibly transposed, rows `stride` elements apart.
struct Matrix {
  const std::byte* data;
  bool transposed;
  int64_t stride;
  std::vector<int64_t> batch;  // where each batch starts, in elements
};

/// c = a @ b: a of m×k, b of k×n, c of m×n without gaps, for each batch.
struct Product {
  int64_t batches, m, n, k;
  Matrix a, b;
  std::byte* c;
};

/// A part of the result of one batch.
struct Panel {
  int64_t batch, row, rows, column, columns;
};

/// The largest extent and stride of a BLAS call: its interface takes 32-bit integers.
inline constexpr int64_t kMaxBlasExtent = int64_t{1} << 30;

/// The panels of a product, none of which has an extent beyond `max_extent`.
std::vector<Panel> panels_of(const Product& product, int64_t max_extent = kMaxBlasExtent);

/// Whether a product is worth more than one thread.
bool is_worth_threads(const Product& product);

/// The memory of one thread for its calls of OpenBLAS and LAPACK: each call needs one of these around it.
class BlasMemory {
 public:
  /// Takes memory that no thread uses, or new one. If there is none left, waits until another thread returns its own;
  /// throws Failure (memory) if no thread has any.
  BlasMemory();
  ~BlasMemory();
  /// Returns the memory of this thread, a few MiB of which may be used between calls. It begins with a page.
  static std::byte* of_thread();
  BlasMemory(const BlasMemory&) = delete;
  BlasMemory& operator=(const BlasMemory&) = delete;

 private:
  void* const memory_;
};

/// Computes a product of T, float or double, on the threads of the pool. No call has an extent or a stride beyond
/// `max_extent`.
template <class T> void multiply(const Product& product, ThreadPool& pool, int64_t max_extent = kMaxBlasExtent);

}  // namespace tsl::cpu
