// Implements x[…] for tensors: NumPy's basic and advanced indexing.
#pragma once

#include <optional>
#include <span>

#include "vm/indexing.h"
#include "vm/operators.h"

namespace tsl {

Value tensor_get(Context&, const Tensor& x, std::span<const IndexItem> items);
void tensor_set(Context&, Value& x, std::span<const IndexItem> items, const Value& value);
void tensor_update(Context&, Value& x, std::span<const IndexItem> items, ast::BinaryOp op, const Value& value);

/// The elements of a slice over `extent` elements.
struct SliceBounds {
  Dim start, count;
  int64_t step = 1;
  bool is_full() const { return step == 1 && !start.symbol() && start.hint() == 0 && full; }
  bool full = false;  // neither start nor stop was given
};
SliceBounds slice_bounds(Context&, const Value& start, const Value& stop, const Value& step, Dim extent);
/// Converts a host index to 0 ≤ index < extent, or throws Failure (index).
Dim checked_index(const Value& index, Dim extent, int axis);

}  // namespace tsl
