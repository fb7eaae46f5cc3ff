// Products of float matrices, and the panels in which threads compute them. The panels are a function of the product's
// shape alone, because the order in which BLAS adds depends on the extents of a call: so results do not depend on the
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "tensor/layout.h"

namespace tsl::cpu {

/// Where the matrices of a batch start, in elements: a function of their number, since there may be millions.
class BatchStarts {
 public:
  BatchStarts() = default;  // of one matrix
  BatchStarts(int64_t count, int64_t step) { add(count, step); }
  /// The axes of a layout but for the last two.
  explicit BatchStarts(const Layout& layout) {
    for (int axis = layout.rank() - 3; axis >= 0; --axis) add(layout.shape[axis].hint(), layout.strides[axis].hint());
  }
  int64_t operator[](int64_t batch) const {
    int64_t start = 0;
    for (int axis = 0; axis < axes_ && batch > 0; ++axis) {
      start += batch % extents_[axis] * steps_[axis];
      batch /= extents_[axis];
    }
    return start;
  }
  /// Returns the least and the greatest of them, unless there are none.
  std::optional<std::pair<int64_t, int64_t>> range() const {
    std::pair<int64_t, int64_t> range{0, 0};
    for (int axis = 0; axis < axes_; ++axis) {
      if (extents_[axis] == 0) return std::nullopt;
      (steps_[axis] < 0 ? range.first : range.second) += (extents_[axis] - 1) * steps_[axis];
    }
    return range;
  }

 private:
  void add(int64_t extent, int64_t step) {
    extents_[axes_] = extent;
    steps_[axes_++] = step;
  }

  int axes_ = 0;
  int64_t extents_[kMaxRank], steps_[kMaxRank];  // the first axes_, innermost first
};

/// A matrix as products read it: row-major, possibly transposed, rows `stride` elements apart.
struct Matrix {
  const std::byte* data;
  bool transposed;
  int64_t stride;
  BatchStarts batch;
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

/// The panels of a product: of each batch, and in it of each row of panels.
class Panels {
 public:
  /// Panels of so many rows and columns at most.
  Panels(const Product& product, int64_t rows, int64_t columns);
  int64_t size() const { return batches_ * down_ * across_; }
  Panel operator[](int64_t i) const;

 private:
  int64_t batches_, m_, n_, rows_, columns_;
  int64_t down_, across_;  // how many of a batch are below and beside one another
};

/// Returns panels none of which has an extent beyond `max_extent`.
Panels panels_of(const Product& product, int64_t max_extent = kMaxBlasExtent);

/// Whether a matrix's stride is too large for a call: BLAS gets it in pieces of one row of memory, which need none.
inline bool needs_single_rows(const Matrix& matrix, int64_t max_extent) { return matrix.stride > max_extent; }

/// Returns the multiply-adds of one batch.
double work_of(const Product& product);
/// Whether a product is worth more than one thread.
bool is_worth_threads(const Product& product);

}  // namespace tsl::cpu
