// Recomputing: what is cheap to compute is computed again where it is read, instead of being written to memory.
#pragma once

#include <functional>
#include <vector>

#include "graph/fuse.h"
#include "graph/target.h"

namespace tsl::graph {

/// Returns whether each node is written to memory.
std::vector<bool> stored_nodes(const Graph& graph, const Fusion& fusion);

/// Estimates what a plan of a fused graph costs, in bytes that are moved in the same time. Ops with kernels of their
/// own do not count.
double cost_of(const Graph& graph, const Fusion& fusion, const Rates& rates);

/// Decisions of recompute(): the node that they concern, and what happens to it.
using OnRecompute = std::function<void(const Node& node, const char* decision)>;

/// Computes elementwise producers again in kernels that read views of them, and replaces short reductions by
/// elementwise ops, where cost_of() says that it pays. Results keep their bits.
Graph recompute(Graph graph, const Rates& rates, const OnRecompute& on_decision = nullptr);

}  // namespace tsl::graph
