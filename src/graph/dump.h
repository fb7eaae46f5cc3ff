// Formats the representations, for `--log` and for errors of the compiler.
#pragma once

#include <string>

#include "base/source.h"
#include "graph/fuse.h"
#include "graph/plan.h"

namespace tsl::graph {

/// Formats one line of a graph.
std::string dump(const Graph& graph, NodeId id, const SourceMap* sources);
/// Formats a graph, one line per node with source positions; `--log graph` prints it.
std::string dump(const Graph& graph, const SourceMap* sources);
/// Formats the groups and the reasons why they ended; `--log fusion` prints it.
std::string dump(const Graph& graph, const Fusion& fusion, const SourceMap* sources);
std::string dump(const Kernel& kernel);
/// Formats the launches with their kernels; `--log plan` prints it.
std::string dump(const Plan& plan);

}  // namespace tsl::graph
