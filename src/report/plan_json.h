// Formats a plan for other programs: as JSON, with all that is needed to make it again, and for Graphviz.
#pragma once

#include <string>

#include "exec/executable.h"
#include "graph/fuse.h"

namespace tsl::report {

/// Formats buffers (dtypes, sizes, lifetimes), launches and kernels (loops, buffers, instructions), and the graph, from
/// which plan_reader.h makes the same plan again. docs/explain.md describes the keys.
std::string plan_json(const exec::Executable& executable);

/// Formats the fused graph: a node for each op, and a box for each group.
std::string graphviz_of(const graph::Graph& graph, const graph::Fusion& fusion, const std::string& name);

}  // namespace tsl::report
