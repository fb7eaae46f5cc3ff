// Parts: where operands of a node stand in its result. concat, pad and index writes are nodes of parts, which readers
// compute as index expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/ints.h"
#include "tensor/op.h"

namespace tsl::graph {

/// Divides, rounding down.
inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// The most parts of a node: its readers choose between them for each element.
inline constexpr size_t kMaxParts = 8;
/// The most parts for which a kernel has branches, in which nothing of the others is computed.
inline constexpr size_t kMostBranches = 4;

/// Limits a linear function of an index: low <= Σ index_k · steps[k] < high.
struct Bound {
  Ints steps;  // one per axis
  int64_t low = 0, high = 0;
  friend bool operator==(const Bound&, const Bound&) = default;
};

/// The indices that satisfy all bounds. Most are boxes: a bound for each axis that they restrict.
using Bounds = std::vector<Bound>;

/// The parts of a node. Operand i is its value within bounds[i], unless a later part is; its layout has the node's
/// shape, and reaches the operand's memory within the bounds only. An index in no part has any value.
struct Parts {
  Op made_from = Op::copy;  // concat or assign_view, for names
  std::vector<Bounds> within;
  bool empty() const { return within.empty(); }
  friend bool operator==(const Parts&, const Parts&) = default;
};

/// The range of a box along an axis.
struct Range {
  int64_t low = 0, high = 0;
};

/// Returns the least box of indices of `shape` that holds all within `bounds`.
std::vector<Range> box_of(const Dims& shape, const Bounds& bounds);

/// Returns the bounds in their normal form, without those that always hold; none if no index satisfies them.
std::optional<Bounds> normalized(const Bounds& bounds, const Dims& shape);

/// Whether every index within `inner` is within `outer`, as far as their bounds show.
bool holds(const Bounds& outer, const Bounds& inner);

/// Counts the indices of the box within `bounds`.
int64_t count_within(const Dims& shape, const Bounds& bounds);

/// An index of one tensor as a linear function of another's index: start + Σ index_k · steps[k] for each axis.
struct IndexFunction {
  std::vector<int64_t> start;  // per axis of the result
  std::vector<Ints> steps;     // per axis of the result: one step for each axis of the argument
};

/// Returns the index in a contiguous tensor of shape `of` that a layout reads, if it is a linear function within
/// `bounds`. The layout's offset must be a number.
std::optional<IndexFunction> index_function(const Layout& layout, const Bounds& bounds, const Shape& of);

/// Returns what `layout` reads at the function's result, as a layout of `shape`; none if its offset is a symbol.
std::optional<Layout> composed(const Layout& layout, const IndexFunction& index, const Shape& shape);

/// Returns the bounds of the function's result as bounds of its argument.
Bounds composed(const Bounds& bounds, const IndexFunction& index);

}  // namespace tsl::graph
