// The observers of one engine: its timeline, and what watches plans being made. Both may be set and unset between runs.
#pragma once

#include <algorithm>
#include <vector>

#include "exec/executable.h"
#include "exec/timeline.h"
#include "graph/compile.h"

namespace tsl::exec {

/// Whether a run has launched a plan's calls as graphs of the device, and if not, why.
enum class GraphState : uint8_t {
  launched,      // as graphs
  no_calls,      // all its ops run one by one
  off,           // the engine makes none
  off_for_plan,  // its function asks for none
  first_run,     // the second run makes them
  unrecorded,    // a call of a library could not be recorded, which the next run tries again
  timed,         // a profile times its calls one by one
};

/// What a run has done with the graphs of a plan.
struct GraphNote {
  GraphState state = GraphState::launched;
  size_t calls = 0;                // kernels, copies and calls of libraries in graphs
  size_t alone = 0;                // ops beside them
  uint32_t made = 0, updated = 0;  // graphs in this run
};

/// Watches graphs becoming plans, and plans becoming executables.
class PlanObserver : public graph::CompileObserver {
 public:
  virtual void on_executable(const Executable&) {}
  /// Called when a run of a plan makes or updates graphs of the device, or launches its calls otherwise than the last.
  virtual void on_device_graph(const graph::PlanOptions&, const GraphNote&) {}
};

struct Instruments {
  Timeline* timeline = nullptr;  // null: times are not recorded
  std::vector<PlanObserver*> observers;
};

/// Passes what a compiler reports to several observers.
class PlanObservers final : public PlanObserver {
 public:
  explicit PlanObservers(const std::vector<PlanObserver*>& observers) : observers_(observers) {}
  void on_recording(const graph::PlanOptions& options, const graph::Graph& graph) override {
    for (PlanObserver* each : observers_) each->on_recording(options, graph);
  }
  void on_pass(const graph::PlanOptions& options, const graph::Pass& pass, const graph::Graph& graph) override {
    for (PlanObserver* each : observers_) each->on_pass(options, pass, graph);
  }
  void on_eliminated(const graph::PlanOptions& options, const graph::Node& node) override {
    for (PlanObserver* each : observers_) each->on_eliminated(options, node);
  }
  void on_recompute(const graph::PlanOptions& options, const graph::Node& node, const char* decision) override {
    for (PlanObserver* each : observers_) each->on_recompute(options, node, decision);
  }
  bool wants_reasons() const override {
    return std::any_of(observers_.begin(), observers_.end(), [](PlanObserver* each) { return each->wants_reasons(); });
  }
  void on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) override {
    for (PlanObserver* each : observers_) each->on_fusion(options, graph, fusion);
  }
  void on_plan(const graph::Plan& plan) override {
    for (PlanObserver* each : observers_) each->on_plan(plan);
  }
  void on_executable(const Executable& executable) override {
    for (PlanObserver* each : observers_) each->on_executable(executable);
  }

 private:
  const std::vector<PlanObserver*>& observers_;
};

}  // namespace tsl::exec
