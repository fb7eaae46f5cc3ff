// The observers of one engine: its timeline, and what watches plans being made. Both may be set and unset between runs.
#pragma once

#include <algorithm>
#include <vector>

#include "exec/executable.h"
#include "exec/timeline.h"
#include "graph/compile.h"

namespace tsl::exec {

/// Watches graphs becoming plans, and plans becoming executables.
class PlanObserver : public graph::CompileObserver {
 public:
  virtual void on_executable(const Executable&) {}
};

/// Several observers as one.
class PlanObservers final : public PlanObserver {
 public:
  void add(PlanObserver& observer) { all_.push_back(&observer); }
  bool empty() const { return all_.empty(); }

  void on_pass(const graph::PlanOptions& options, graph::Pass pass, const graph::Graph& graph) override {
    for (PlanObserver* o : all_) o->on_pass(options, pass, graph);
  }
  void on_eliminated(const graph::PlanOptions& options, const graph::Node& node) override {
    for (PlanObserver* o : all_) o->on_eliminated(options, node);
  }
  bool wants_reasons() const override {
    return std::any_of(all_.begin(), all_.end(), [](const PlanObserver* o) { return o->wants_reasons(); });
  }
  void on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) override {
    for (PlanObserver* o : all_) o->on_fusion(options, graph, fusion);
  }
  void on_plan(const graph::Plan& plan) override {
    for (PlanObserver* o : all_) o->on_plan(plan);
  }
  void on_executable(const Executable& executable) override {
    for (PlanObserver* o : all_) o->on_executable(executable);
  }

 private:
  std::vector<PlanObserver*> all_;
};

struct Instruments {
  Timeline* timeline = nullptr;      // null: times are not recorded
  PlanObserver* observer = nullptr;  // null: nothing watches
};

}  // namespace tsl::exec
