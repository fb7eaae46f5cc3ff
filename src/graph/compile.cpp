#include "graph/compile.h"

#include <memory_resource>

#include "base/run_watch.h"
#include "graph/passes/passes.h"
#include "graph/plan_steps.h"
#include "graph/recompute.h"
#include "graph/spec.h"

namespace tsl::graph {

namespace {

/// Returns what reports recomputation to an observer that wants reasons; else null.
OnRecompute report_to(CompileObserver* observer, const PlanOptions& options) {
  if (!observer || !observer->wants_reasons()) return {};
  return
      [observer, &options](const Node& node, const char* decision) { observer->on_recompute(options, node, decision); };
}

constexpr Pass kPasses[] = {
    {"dead code", "removes nodes that nothing uses", Pass::Needs::nothing,
     [](Graph graph, const PassContext& context) {
       return dead_code(std::move(graph), [&](const Node& node) {
         if (context.observer) context.observer->on_eliminated(context.options, node);
       });
     }},
    {"decompose", "replaces a short logsumexp by simpler ops", Pass::Needs::nothing,
     [](Graph graph, const PassContext&) { return decompose(std::move(graph)); }},
    {"pad products", "computes matrix products whose rows the device reads slowly on operands padded with zeros",
     Pass::Needs::target,
     [](Graph graph, const PassContext& context) {
       return pad_products(std::move(graph), [&](const Node& product) { return context.target->padded(product); });
     }},
    {"simplify", "applies exact rewrites only", Pass::Needs::nothing,
     [](Graph graph, const PassContext&) { return simplify(std::move(graph)); }},
    {"recompute",
     "replaces reductions of at most eight elements by elementwise ops on slices, in the reduction order, and computes "
     "elementwise producers again in the kernels that read views of them, where an estimate of bytes, operations and "
     "launches says that it pays",
     Pass::Needs::nothing,
     [](Graph graph, const PassContext& context) {
       return recompute(std::move(graph), context.target ? context.target->rates() : Rates(), context.device,
                        report_to(context.observer, context.options));
     }},
    {"absorb epilogues", "merges a bias and an activation into a matrix product, where numerics are fast",
     Pass::Needs::fast_numerics,
     [](Graph graph, const PassContext& context) {
       return absorb_epilogues(std::move(graph),
                               [&](const Node& product) { return context.target->has_epilogue(product); });
     }},
    {"view parts", "turns concats, pads and index writes into parts, and views of parts into parts",
     Pass::Needs::nothing,
     [](Graph graph, const PassContext& context) {
       return view_parts(std::move(graph), context.device.branches_by_part);
     }},
    {"embed", "computes cheap producers of parts where the parts are read", Pass::Needs::nothing,
     [](Graph graph, const PassContext& context) {
       return embed_producers(std::move(graph), context.device.branches_by_part);
     }},
    {"start sums", "moves sums over ranks to where their operands are computed", Pass::Needs::nothing,
     [](Graph graph, const PassContext&) { return start_sums_early(std::move(graph)); }},
};

bool is_wanted(const Pass& pass, const PassContext& context) {
  if (pass.needs == Pass::Needs::nothing) return true;
  return context.target && (pass.needs != Pass::Needs::fast_numerics || context.options.fast_numerics);
}

/// Runs the passes on the graph.
Graph rewrite(Graph graph, const PassContext& context) {
  const bool checks = enforces_specification();
  poll_stop();
  if (checks) verify(graph, "recording", false);
  if (context.observer) context.observer->on_recording(context.options, graph);
  for (const Pass& pass : kPasses) {
    if (!is_wanted(pass, context)) continue;
    graph = pass.run(std::move(graph), context);
    poll_stop();
    if (checks) verify(graph, pass.name, true);
    if (context.observer) context.observer->on_pass(context.options, pass, graph);
  }
  return graph;
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

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
  compute_again(plan.graph, fusion, device, report_to(observer, options));
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
  return make_plan(rewrite(std::move(graph), {options, device, observer, target}), options, device, observer);
}

}  // namespace tsl::graph
