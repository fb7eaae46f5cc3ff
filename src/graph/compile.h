// The compiler: turns a graph into a plan.
#pragma once

#include <cstdint>
#include <span>

#include "graph/fuse.h"
#include "graph/plan.h"
#include "graph/target.h"

namespace tsl::graph {

struct Pass;

/// Watches a graph being compiled.
class CompileObserver {
 public:
  virtual ~CompileObserver() = default;
  /// Called with the graph before any pass.
  virtual void on_recording(const PlanOptions&, const Graph&) {}
  /// Called when a pass has ended.
  virtual void on_pass(const PlanOptions&, const Pass&, const Graph&) {}
  /// Called for each node that dead code removes, before on_pass().
  virtual void on_eliminated(const PlanOptions&, const Node&) {}
  /// Called for each node that recompute changes, or could have changed, before on_pass().
  virtual void on_recompute(const PlanOptions&, const Node&, const char* /*decision*/) {}
  /// Whether on_recompute() and on_fusion() need reasons.
  virtual bool wants_reasons() const { return false; }
  virtual void on_fusion(const PlanOptions&, const Graph&, const Fusion&) {}
  virtual void on_plan(const Plan&) {}
};

/// What a pass may read besides its graph.
struct PassContext {
  const PlanOptions& options;
  const DeviceTraits& device;
  CompileObserver* observer;  // null: none
  Target* target;             // null: the device is not known
};

/// A pass from graph to graph. Its place in passes() is its place in the order.
struct Pass {
  enum class Needs : uint8_t { nothing, target, fast_numerics };  // fast numerics are a target's
  const char* name;
  const char* summary;  // what it does, as docs/architecture.md has it
  Needs needs;
  Graph (*run)(Graph, const PassContext&);
};

/// Returns all passes, in the order in which they run. The first removes dead code, on which the others rely.
std::span<const Pass> passes();

/// Compiles a graph: passes() → fuse → lower → plan. `target` (optional) is the device that will run the plan; the
/// passes query its capabilities.
Plan compile(Graph graph, const PlanOptions& options = {}, CompileObserver* observer = nullptr,
             Target* target = nullptr);

/// Does the second half of compile(): makes the plan of a graph after all passes.
Plan make_plan(Graph graph, const PlanOptions& options = {}, const DeviceTraits& device = {},
               CompileObserver* observer = nullptr);

}  // namespace tsl::graph
