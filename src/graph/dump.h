// The representations as text: what `--log` prints and what errors of the compiler show.
#pragma once

#include <string>

#include "base/source.h"
#include "graph/fuse.h"
#include "graph/plan.h"

namespace tsl::graph {

/// One line of a graph.
std::string dump(const Graph& graph, NodeId id, const SourceMap* sources);
/// The graph, one line a node, with source places: what `--log graph` prints.
std::string dump(const Graph& graph, const SourceMap* sources);
/// The groups and why they ended where they did: what `--log fusion` prints.
std::string dump(const Graph& graph, const Fusion& fusion, const SourceMap* sources);
std::string dump(const Kernel& kernel);
/// The launches with their kernels: what `--log plan` prints.
std::string dump(const Plan& plan);

}  // namespace tsl::graph
