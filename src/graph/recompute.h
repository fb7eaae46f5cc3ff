// Recomputing: what is cheap to compute is computed again where it is read, instead of being written to memory.
#pragma once

#include <functional>
#include <vector>

#include "graph/cost.h"

namespace tsl::graph {

/// Returns whether each node is written to memory.
std::vector<bool> stored_nodes(const Graph& graph, const Fusion& fusion);

/// Decisions of recompute(): the node that they concern, and what happens to it.
using OnRecompute = std::function<void(const Node& node, const char* decision)>;

/// Computes elementwise producers again in kernels that read views of them, and replaces short reductions by
/// elementwise ops, where seconds_of() says that it pays. Results keep their bits.
Graph recompute(Graph graph, const Rates& rates, const DeviceTraits& device, const OnRecompute& on_decision = nullptr);

}  // namespace tsl::graph
