// Recomputing: what is cheap to compute is computed again where it is read, instead of being written to memory.
#pragma once

#include <functional>
#include <vector>

#include "graph/cost.h"

namespace tsl::graph {

/// Returns whether each node is written to memory for another kernel, or as an output.
std::vector<bool> stored_nodes(const Graph& graph, const Fusion& fusion);

/// Decisions of recompute(): the node that they concern, and what happens to it.
using OnRecompute = std::function<void(const Node& node, const char* decision)>;

/// Computes elementwise producers again in kernels that read views of them, and replaces short reductions by
/// elementwise ops, where seconds_of() says that it pays. Results keep their bits.
Graph recompute(Graph graph, const Rates& rates, const DeviceTraits& device, const OnRecompute& on_decision = nullptr);

/// Lets groups compute elementwise nodes of other groups again, from what is in memory or shorter, where that moves
/// fewer bytes: a backward pass reads the input of a layer norm, not its three steps. Results keep their bits.
void compute_again(const Graph& graph, Fusion& fusion, const DeviceTraits& device,
                   const OnRecompute& on_decision = nullptr);

}  // namespace tsl::graph
