// Logs what is traced and compiled: the topics graph, fusion, plan, recompiles and guards of --log.
#pragma once

#include "exec/instruments.h"
#include "jit/trace_observer.h"
#include "value/context.h"

namespace tsl {

class CompileLog final : public exec::PlanObserver {
 public:
  struct Topics {
    bool graph = false, fusion = false, plan = false;
  };
  CompileLog(Context& context, Topics topics) : context_(context), topics_(topics) {}
  bool logs_any() const { return topics_.graph || topics_.fusion || topics_.plan; }

  void on_pass(const graph::PlanOptions& options, graph::Pass pass, const graph::Graph& graph) override;
  void on_eliminated(const graph::PlanOptions& options, const graph::Node& node) override;
  bool wants_reasons() const override { return topics_.fusion; }
  void on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) override;
  void on_plan(const graph::Plan& plan) override;

 private:
  Context& context_;
  const Topics topics_;
};

/// Logs traces: the topics recompiles and guards.
class TraceLog final : public jit::TraceObserver {
 public:
  struct Topics {
    bool recompiles = false, guards = false;
  };
  TraceLog(Context& context, Topics topics) : context_(context), topics_(topics) {}
  bool logs_any() const { return topics_.recompiles || topics_.guards; }

  void on_trace(const jit::RegionNote& region, const jit::TraceReason& reason) override;
  void on_segment(const jit::RegionNote& region, const jit::SegmentNote& segment) override;
  void on_abort(const jit::RegionNote& region, const std::string& reason, Span at, uint32_t calls) override;

 private:
  Context& context_;
  const Topics topics_;
};

}  // namespace tsl
