// The compiler: turns a graph into a plan.
#pragma once

#include <cstdint>

#include "graph/fuse.h"
#include "graph/plan.h"
#include "graph/target.h"

namespace tsl::graph {

/// The passes on a graph, in order; `recording` is the graph before any pass.
enum class Pass : uint8_t { recording, dead_code, decompose, simplify, recompute, absorb_epilogues, view_parts, embed };
const char* name_of(Pass pass);

/// Watches a graph being compiled. A call for a pass comes when the pass has ended.
class CompileObserver {
 public:
  virtual ~CompileObserver() = default;
  virtual void on_pass(const PlanOptions&, Pass, const Graph&) {}
  /// Called for each node that dead code removes, before on_pass().
  virtual void on_eliminated(const PlanOptions&, const Node&) {}
  /// Called for each node that recompute changes, or could have changed, before on_pass().
  virtual void on_recompute(const PlanOptions&, const Node&, const char* /*decision*/) {}
  /// Whether on_recompute() and on_fusion() need reasons.
  virtual bool wants_reasons() const { return false; }
  virtual void on_fusion(const PlanOptions&, const Graph&, const Fusion&) {}
  virtual void on_plan(const Plan&) {}
};

/// Runs the passes: dead code → decompose, with products padded → simplify → recompute → absorb epilogues → view parts
/// → embed → fuse → lower → plan. `target` (optional) is the device that will run the plan; the passes query its
/// capabilities.
Plan compile(Graph graph, const PlanOptions& options = {}, CompileObserver* observer = nullptr,
             Target* target = nullptr);

/// Does the second half of compile(): makes the plan of a graph after all passes.
Plan make_plan(Graph graph, const PlanOptions& options = {}, const DeviceTraits& device = {},
               CompileObserver* observer = nullptr);

}  // namespace tsl::graph
