// Passes from graph to graph. Each returns a new graph whose nodes are all reachable from its outputs, or fallible.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"

namespace tsl::graph {

/// The graph for the sizes of one run, given the values of its symbols: extents and strides become numbers. Offsets
/// and scalars stay symbols, arguments of the plan. Throws Failure (memory) if a tensor would be too large.
Graph with_sizes(const Graph& graph, std::span<const Scalar> symbols);

/// Drops nodes nobody needs. A fallible node stays: its error is an effect. `eliminated` is told of each node dropped.
Graph dead_code(Graph graph, const std::function<void(const Node&)>& eliminated = nullptr);

/// Decomposes each logsumexp over at most one block of the reduction order, so that every template runs it and it
/// shares the row results of other ops. Extents must be numbers.
Graph decompose(Graph graph);

/// Exact rewrites only (bit for bit, NaNs and signed zeros included): constants become scalar operands, copies
/// that change nothing and multiplications or divisions by one go.
Graph simplify(Graph graph);

/// Fast numerics: a product of f32 or shorter floats, and what alone reads it, become one node where the library of
/// products does all that in one call, and `has_epilogue` says so of the node: the addition of a bias along the last
/// axis, relu or gelu_tanh, or both. What the elements of other kernels are made of stays in those: to compute it
/// before gains nothing.
Graph absorb_epilogues(Graph graph, const std::function<bool(const Node&)>& has_epilogue);

}  // namespace tsl::graph
