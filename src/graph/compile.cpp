#include "graph/compile.h"

#include <memory_resource>

#include "base/run_watch.h"
#include "graph/passes/passes.h"
#include "graph/plan_steps.h"
#include "graph/recompute.h"
#include "graph/spec.h"

namespace tsl::graph {

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::recording: return "recording";
    case Pass::dead_code: return "dead code";
    case Pass::decompose: return "decompose";
    case Pass::simplify: return "simplify";
    case Pass::recompute: return "recompute";
    case Pass::absorb_epilogues: return "absorb epilogues";
    case Pass::view_parts: return "view parts";
    case Pass::embed: return "embed";
  }
  return "";
}

namespace {

/// Runs the passes on the graph.
Graph rewrite(Graph graph, const PlanOptions& options, const DeviceTraits& device, CompileObserver* observer,
              Target* target) {
  const bool checks = enforces_specification();
  const auto has_ended = [&](Pass pass) {
    poll_stop();
    if (checks) verify(graph, name_of(pass), pass != Pass::recording);
    if (observer) observer->on_pass(options, pass, graph);
  };
  has_ended(Pass::recording);
  graph = dead_code(std::move(graph), [&](const Node& node) {
    if (observer) observer->on_eliminated(options, node);
  });
  has_ended(Pass::dead_code);
  graph = decompose(std::move(graph));
  if (target) {
    graph = pad_products(std::move(graph), [&](const Node& product) { return target->padded(product); });
  }
  has_ended(Pass::decompose);
  graph = simplify(std::move(graph));
  has_ended(Pass::simplify);
  OnRecompute on_decision;
  if (observer && observer->wants_reasons()) {
    on_decision = [&](const Node& node, const char* decision) { observer->on_recompute(options, node, decision); };
  }
  graph = recompute(std::move(graph), target ? target->rates() : Rates(), device, on_decision);
  has_ended(Pass::recompute);
  if (options.fast_numerics && target) {
    graph = absorb_epilogues(std::move(graph), [&](const Node& product) { return target->has_epilogue(product); });
    has_ended(Pass::absorb_epilogues);
  }
  graph = view_parts(std::move(graph), device.branches_by_part);
  has_ended(Pass::view_parts);
  graph = embed_producers(std::move(graph), device.branches_by_part);
  has_ended(Pass::embed);
  return graph;
}

}  // namespace

Plan make_plan(Graph graph, const PlanOptions& options, const DeviceTraits& device, CompileObserver* observer) {
  Plan plan;
  plan.options = options;
  plan.device = device;
  plan.graph = std::move(graph);
  // Temporary data: most graphs are small, and all of it is freed at once.
  std::byte local[8 * 1024];
  std::pmr::monotonic_buffer_resource scratch(local, sizeof local);
  const bool explains = observer && observer->wants_reasons();
  Fusion fusion = fuse(plan.graph, explains, device.resident, &scratch);
  OnRecompute on_decision;
  if (explains)
    on_decision = [&](const Node& node, const char* decision) { observer->on_recompute(options, node, decision); };
  compute_again(plan.graph, fusion, device, on_decision);
  if (observer) observer->on_fusion(options, plan.graph, fusion);
  lower(plan, fusion, &scratch);
  if (enforces_specification()) verify_kernels(plan, "lower");
  make_launches(plan, &scratch);
  if (enforces_specification()) verify_launches(plan, "launches");
  assign_buffers(plan, &scratch);
  if (enforces_specification()) verify(plan, "buffers");
  if (observer) observer->on_plan(plan);
  return plan;
}

Plan compile(Graph graph, const PlanOptions& options, CompileObserver* observer, Target* target) {
  const DeviceTraits device = target ? target->traits() : DeviceTraits();
  return make_plan(rewrite(std::move(graph), options, device, observer, target), options, device, observer);
}

}  // namespace tsl::graph
