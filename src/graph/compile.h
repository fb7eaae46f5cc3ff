// The compiler: turns a graph into a plan.
#pragma once

#include <string>

#include "graph/plan.h"
#include "graph/target.h"

namespace tsl::graph {

/// What to log while a graph is compiled, and where to.
struct CompileLog {
  const SourceMap* sources = nullptr;
  bool graph = false, fusion = false, plan = false;
  void (*write)(void* context, const std::string& text) = nullptr;
  void* context = nullptr;
};

/// Runs the passes: dead code → decompose → simplify → absorb epilogues → fuse → lower → plan. `target` (optional) is
/// the device that will run the plan; the passes query its capabilities.
Plan compile(Graph graph, const PlanOptions& options = {}, const CompileLog* log = nullptr, Target* target = nullptr);

}  // namespace tsl::graph
