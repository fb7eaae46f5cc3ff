#include "engine/compile_log.h"

#include <fmt/format.h>

#include "graph/dump.h"
#include "jit/guard_notes.h"

namespace tsl {

namespace {

/// Whether a plan is that of an eager op, which is not logged: there would be one for each op and shape.
bool is_eager(const graph::PlanOptions& options) { return options.name.empty(); }

}  // namespace

void CompileLog::on_pass(const graph::PlanOptions& options, graph::Pass pass, const graph::Graph& graph) {
  if (!topics_.graph || is_eager(options) || pass != graph::Pass::recording) return;
  context_.write_log(fmt::format("[graph] {}\n{}", options.name, dump(graph, &context_.sources())));
}

void CompileLog::on_eliminated(const graph::PlanOptions& options, const graph::Node& node) {
  if (!topics_.graph || is_eager(options)) return;
  const std::string location = node.span.valid() ? context_.sources().location(node.span) : "?";
  context_.write_log(
      fmt::format("[graph] {}: eliminated {} at {}: its result is unused\n", options.name, node.def().name, location));
}

void CompileLog::on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) {
  if (!topics_.fusion || is_eager(options)) return;
  context_.write_log(fmt::format("[fusion] {}: {}", options.name, dump(graph, fusion, &context_.sources())));
}

void TraceLog::on_trace(const jit::RegionNote& region, const jit::TraceReason& reason) {
  if (!topics_.recompiles) return;
  context_.write_log(fmt::format("[recompiles] {}: {}\n", region.title, to_text(reason, context_.sources())));
}

void TraceLog::on_segment(const jit::RegionNote& region, const jit::SegmentNote& segment) {
  if (!topics_.guards) return;
  std::string text = fmt::format("[guards] {}\n", region.title);
  for (const jit::GuardNote& guard : segment.guards) text += fmt::format("  {}\n", to_text(guard, context_.sources()));
  context_.write_log(text);
}

void TraceLog::on_abort(const jit::RegionNote& region, const std::string& reason, Span, uint32_t calls) {
  if (!topics_.recompiles || calls == 0) return;
  context_.write_log(
      fmt::format("[recompiles] {} falls back to the interpreter for {} calls: {}\n", region.title, calls, reason));
}

void CompileLog::on_plan(const graph::Plan& plan) {
  if (!topics_.plan || is_eager(plan.options)) return;
  context_.write_log(fmt::format("[plan] {}: {}", plan.options.name, dump(plan)));
}

}  // namespace tsl
