#include "graph/compile.h"

#include <memory_resource>

#include <fmt/format.h>

#include "graph/buffers.h"
#include "graph/dump.h"
#include "graph/fuse.h"
#include "graph/launches.h"
#include "graph/lower.h"
#include "graph/passes.h"
#include "graph/spec.h"

namespace tsl::graph {

namespace {

void log_lines(const CompileLog* log, const std::string& text) {
  if (log && log->write) log->write(log->context, text);
}

void log_eliminated(const CompileLog& log, const Node& node) {
  const std::string location = log.sources && node.span.valid() ? log.sources->location(node.span) : "?";
  log_lines(&log, fmt::format("[graph] eliminated: {} at {}: its result is unused\n", node.def().name, location));
}

/// Runs the passes on the graph.
Graph rewrite(Graph graph, const PlanOptions& options, const CompileLog* log, Target* target) {
  const bool checks = enforces_specification();
  if (checks) verify(graph, "recording");
  if (log && log->graph) log_lines(log, "[graph]\n" + dump(graph, log->sources));
  graph = dead_code(std::move(graph), [&](const Node& node) {
    if (log && log->graph) log_eliminated(*log, node);
  });
  if (checks) verify(graph, "dead code", true);
  graph = decompose(std::move(graph));
  if (checks) verify(graph, "spell out", true);
  graph = simplify(std::move(graph));
  if (checks) verify(graph, "simplify", true);
  if (!options.fast_numerics || !target) return graph;
  graph = absorb_epilogues(std::move(graph), [&](const Node& product) { return target->has_epilogue(product); });
  if (checks) verify(graph, "absorb epilogues", true);
  return graph;
}

}  // namespace

Plan compile(Graph graph, const PlanOptions& options, const CompileLog* log, Target* target) {
  Plan plan;
  plan.options = options;
  plan.graph = rewrite(std::move(graph), options, log, target);
  // Temporary data: most graphs are small, and all of it is freed at once.
  std::byte local[8 * 1024];
  std::pmr::monotonic_buffer_resource scratch(local, sizeof local);
  const Fusion fusion = fuse(plan.graph, log && log->fusion, &scratch);
  if (log && log->fusion) log_lines(log, dump(plan.graph, fusion, log->sources));
  lower(plan, fusion, &scratch);
  if (enforces_specification()) verify_kernels(plan, "lower");
  make_launches(plan, &scratch);
  if (enforces_specification()) verify_launches(plan, "launches");
  assign_buffers(plan, &scratch);
  if (enforces_specification()) verify(plan, "buffers");
  if (log && log->plan) log_lines(log, dump(plan));
  return plan;
}

}  // namespace tsl::graph
