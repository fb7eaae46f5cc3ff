// The compiler: from a graph to a plan.
#pragma once

#include <string>

#include "graph/plan.h"
#include "graph/target.h"

namespace tsl::graph {

/// What to report while a graph is compiled, and where.
struct CompileLog {
  const SourceMap* sources = nullptr;
  bool graph = false, fusion = false, plan = false;
  void (*write)(void* context, const std::string& text) = nullptr;
  void* context = nullptr;
};

/// The passes, in a sentence: dead code → decompose → simplify → absorb epilogues → fuse → lower → plan. `target`, if
/// given, is the device that will run the plan, and is asked what it can do beyond what every device can.
Plan compile(Graph graph, const PlanOptions& options = {}, const CompileLog* log = nullptr, Target* target = nullptr);

}  // namespace tsl::graph
