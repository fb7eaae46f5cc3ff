// Loop ranges. Nodes whose shapes count the same elements in the same order can share loops if the loops are cut
// finely enough; these functions find that cut and rewrite layouts over it.
#pragma once

#include <optional>

#include "tensor/ints.h"
#include "tensor/layout.h"

namespace tsl::graph {

/// The coarsest row-major cut that both shapes are made of, without extents of 1: [6, 4] and [2, 12] give
/// [2, 3, 4]; [6, 4] and [4, 6] have none. Null also if it needs more than kMaxRank loops.
std::optional<Dims> refine(const Dims& a, const Dims& b);

/// The shape without extents of 1.
Dims without_ones(const Dims& shape);

/// Strides of `layout` over `loops`, a refinement of its shape.
Dims split_strides(const Layout& layout, const Dims& loops);

/// For each loop of a refinement of `shape`: which axis of `shape` it comes from.
Ints axes_of(const Dims& shape, const Dims& loops);

}  // namespace tsl::graph
