// Loop ranges. Nodes whose shapes have the same elements in the same order can share loops if these are split finely
// enough. These functions find the split and rewrite layouts for it.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/ints.h"
#include "tensor/layout.h"

namespace tsl::graph {

/// Returns the number of elements; extents must be numbers.
int64_t count_of(const Dims& shape);

/// Returns the coarsest row-major split that refines both shapes, without extents of 1: [6, 4] and [2, 12] give [2, 3,
/// 4]; [6, 4] and [4, 6] have none. Null also if it needs more than kMaxRank loops.
std::optional<Dims> refine(const Dims& a, const Dims& b);

/// Returns the shape without extents of 1.
Dims without_ones(const Dims& shape);

/// Returns the strides of `layout` over `loops`, a refinement of its shape.
Dims split_strides(const Layout& layout, const Dims& loops);

/// Returns the layout through which `view`, a view of the contiguous result of an elementwise op, reads an operand that
/// the op reads through `operand`. Null if no strides express it.
std::optional<Layout> through(const Layout& view, const Layout& operand);

/// Returns, for each loop of a refinement of `shape`, the axis of `shape` that it is a part of.
Ints axes_of(const Dims& shape, const Dims& loops);

}  // namespace tsl::graph
