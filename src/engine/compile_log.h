// Logs the representations while graphs are compiled: the topics graph, fusion and plan of --log.
#pragma once

#include "exec/instruments.h"
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

}  // namespace tsl
