// The passes on graphs. Each returns a new graph, whose nodes are reachable from its outputs, fallible, or of the
// program's order.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "graph/graph.h"

namespace tsl::graph {

/// Whether an operand reads all elements of its node in their order.
bool reads_all_in_order(const Graph& graph, const Arg& arg);

/// Replaces sizes by numbers, given the values of a run's symbols: extents and strides become constants. Offsets and
/// scalars stay symbols, which are arguments of the plan. Throws Failure (memory) if a tensor takes more than `limit`
/// bytes.
Graph with_sizes(const Graph& graph, std::span<const Scalar> symbols, const SizeLimits& limits);

/// Removes nodes that nothing uses, except those of the program's order, and fallible ones, whose errors are effects.
/// Calls `eliminated` for each removed node.
Graph dead_code(Graph graph, const std::function<void(const Node&)>& eliminated = nullptr);

/// Decomposes each logsumexp over at most one block of the reduction order, so that every template can run it and it
/// shares row results with other ops. Extents must be numbers.
Graph decompose(Graph graph);

/// Applies exact rewrites only (bit for bit, with NaNs and signed zeros): folds constants into operands, removes copies
/// without effect, scans of one element a row, and multiplications or divisions by one, takes elements before functions
/// compute each.
Graph simplify(Graph graph);

/// The most elements of a reduction that elementwise ops on slices may replace: more fill the lanes of a row.
inline constexpr int64_t kMaxUnrolled = 8;

/// Whether unroll() can replace a node: a reduction of at most kMaxUnrolled elements that repeats an elementwise op.
bool may_unroll(const Node& node);

/// Replaces the nodes for which `chosen` holds, which may_unroll(), by elementwise ops on slices of their operands, in
/// the reduction order. Extents must be numbers.
Graph unroll(const Graph& graph, const std::function<bool(NodeId)>& chosen);

using PaddedProductOf = std::function<std::optional<PaddedProduct>(const Node&)>;

/// Computes matrix products with the extents that `padded` gives, if any, on operands padded with zeros. Extents must
/// be numbers.
Graph pad_products(Graph graph, const PaddedProductOf& padded);

/// Merges a matrix product of f32 or shorter floats with its only reader, under fast numerics: a bias along the last
/// axis, relu or gelu_tanh, or both, if `has_epilogue` holds for the merged node. A result that other kernels read
/// element by element is not merged: computing it in the product would gain nothing.
Graph absorb_epilogues(Graph graph, const std::function<bool(const Node&)>& has_epilogue);

/// Turns concats, pads and writes of boxes into parts where this saves a kernel, and lets what fuses read them as index
/// expressions: a view of parts becomes parts of the operands.
/// `branches`: kernels compute each part only where it holds.
Graph view_parts(Graph graph, bool branches = false);

/// Computes elementwise producers that only parts read in the kernels of those parts, if they are cheap or `branches`
/// makes them run once per element.
Graph embed_producers(Graph graph, bool branches = false);

/// Puts sums over ranks, and what they alone need, where their operands are ready, so that they run beside what comes
/// after.
Graph start_sums_early(Graph graph);

}  // namespace tsl::graph
