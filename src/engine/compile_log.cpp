#include "engine/compile_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/dump.h"
#include "jit/guard_notes.h"

namespace tsl {

namespace {

bool is_eager(const graph::PlanOptions& options) { return options.name.empty(); }

/// Formats what is known of a kernel's launch; "" without generated code.
std::string launch_text(const exec::LoadedKernel& kernel) {
  if (kernel.blocks == 0) return "";
  std::string text = fmt::format(", {} blocks of {} threads", kernel.blocks, kernel.threads);
  if (kernel.registers >= 0) text += fmt::format(", {} registers", kernel.registers);
  if (kernel.spilled >= 0) text += fmt::format(", {} bytes spilled", kernel.spilled);
  if (kernel.shared >= 0) text += fmt::format(", {} bytes shared", kernel.shared);
  if (kernel.occupancy >= 0) text += fmt::format(", occupancy {:.0f} %", 100 * kernel.occupancy);
  return text;
}

}  // namespace

// ---- Plans -----------------------------------------------------------------------------------------------------

bool CompileLog::logs_any() const {
  for (const char* topic : {"graph", "fusion", "plan", "code", "graphs", "perf"}) {
    if (levels_.logs(topic)) return true;
  }
  return false;
}

void CompileLog::write(std::string_view topic, const std::string& about, const std::string& text) {
  context_.write_log(log_entry(topic, about, text));
}

/// Writes a text, or at level info its first line, which sums it up.
void CompileLog::write_first_line(std::string_view topic, const std::string& about, const std::string& text) {
  write(topic, about, levels_.logs_text(topic) ? text : text.substr(0, text.find('\n')));
}

void CompileLog::on_recording(const graph::PlanOptions& options, const graph::Graph& graph) {
  if (!levels_.logs("graph") || is_eager(options)) return;
  const size_t inputs = graph.inputs().size();
  write_first_line("graph", options.name,
                   fmt::format("{} ops, {} inputs, {} outputs\n{}", graph.size() - inputs, inputs, graph.outputs.size(),
                               dump(graph, &context_.sources())));
}

void CompileLog::on_eliminated(const graph::PlanOptions& options, const graph::Node& node) {
  if (!levels_.logs("graph") || is_eager(options)) return;
  const std::string location = node.span.valid() ? context_.sources().location(node.span) : "?";
  write("graph", options.name, fmt::format("eliminated {} at {}: its result is unused", node.def().name, location));
}

void CompileLog::on_recompute(const graph::PlanOptions& options, const graph::Node& node, const char* decision) {
  if (!levels_.logs_text("fusion") || is_eager(options)) return;
  const std::string location = node.span.valid() ? context_.sources().location(node.span) : "?";
  write("fusion", options.name, fmt::format("{} at {}: {}", node.def().name, location, decision));
}

void CompileLog::on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) {
  if (!levels_.logs("fusion") || is_eager(options)) return;
  write_first_line("fusion", options.name, dump(graph, fusion, &context_.sources()));
}

void CompileLog::on_plan(const graph::Plan& plan) {
  if (!levels_.logs("plan") || is_eager(plan.options)) return;
  write_first_line("plan", plan.options.name, dump(plan));
}

void CompileLog::on_executable(const exec::Executable& executable) {
  if (is_eager(executable.plan().options)) return;
  if (levels_.logs("plan")) log_candidates(executable);
  if (levels_.logs("code")) log_code(executable);
  if (levels_.logs("perf")) log_costs(executable);
}

void CompileLog::log_candidates(const exec::Executable& executable) {
  const graph::Plan& plan = executable.plan();
  for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
    const std::string text = to_text(executable.candidates(launch));
    if (text.empty()) continue;
    const graph::Node& node = plan.graph[plan.kernels[plan.launches[launch][0]].op_node];
    write("plan", plan.options.name, fmt::format("kernels for {}: {}", node.def().name, text));
  }
}

void CompileLog::log_code(const exec::Executable& executable) {
  const graph::Plan& plan = executable.plan();
  const std::vector<exec::KernelSource> sources = executable.sources();
  for (const exec::KernelSource& source : sources) {
    const auto lines = std::count(source.text.begin(), source.text.end(), '\n');
    write_first_line("code", plan.options.name, fmt::format("{}: {} lines\n{}", source.name, lines, source.text));
  }
  if (!sources.empty()) return;
  for (const exec::LoadedKernel& kernel : executable.kernels()) {
    const std::vector<uint32_t>& launch = plan.launches[kernel.launch];
    std::string text = fmt::format("{}: kernel IR of {}\n", kernel.name, launch.size());
    for (uint32_t k : launch) text += dump(plan.kernels[k]);
    write_first_line("code", plan.options.name, text);
  }
}

void CompileLog::log_costs(const exec::Executable& executable) {
  const std::string& name = executable.plan().options.name;
  for (const exec::LoadedKernel& kernel : executable.kernels()) {
    if (kernel.spilled > 0)
      write("perf", name, fmt::format("{} spills {} bytes of registers for each thread", kernel.name, kernel.spilled));
    if (levels_.logs_text("perf")) write("perf", name, kernel.name + launch_text(kernel));
  }
}

void CompileLog::on_device_graph(const graph::PlanOptions& options, const exec::GraphNote& note) {
  if (is_eager(options)) return;
  if (note.made > 0 && levels_.logs("graphs"))
    write("graphs", options.name, fmt::format("a graph is made, of {} call{}", note.calls, note.calls == 1 ? "" : "s"));
  if (note.updated > 0 && levels_.logs_text("graphs"))
    write("graphs", options.name, "arguments of the graph are updated");
}

// ---- Traces ----------------------------------------------------------------------------------------------------

void TraceLog::on_trace(const jit::RegionNote& region, const jit::TraceReason& reason) {
  if (!levels_.logs("recompiles")) return;
  context_.write_log(log_entry("recompiles", region.title, to_text(reason, context_.sources())));
}

void TraceLog::on_specialisation(const jit::RegionNote&, const jit::SpecialisationNote& note) {
  if (!levels_.logs_text("recompiles")) return;
  const std::string sizes = note.sizes.empty() ? "" : ", for " + note.sizes;
  context_.write_log(log_entry("recompiles", note.name, "a plan is made" + sizes));
}

void TraceLog::on_segment(const jit::RegionNote& region, const jit::SegmentNote& segment) {
  if (levels_.logs("guards")) log_guards(region, segment);
  if (levels_.logs("perf")) log_end(region, segment);
}

void TraceLog::log_guards(const jit::RegionNote& region, const jit::SegmentNote& segment) {
  double nanoseconds = 0;
  for (const jit::GuardNote& guard : segment.guards) nanoseconds += guard.nanoseconds;
  std::string text = fmt::format("{} guards, about {:.0f} ns\n", segment.guards.size(), nanoseconds);
  if (levels_.logs_text("guards")) {
    for (const jit::GuardNote& guard : segment.guards) text += to_text(guard, context_.sources()) + '\n';
  }
  context_.write_log(log_entry("guards", region.title, text));
}

/// Logs what ends a segment before its region.
void TraceLog::log_end(const jit::RegionNote& region, const jit::SegmentNote& segment) {
  if (segment.end == jit::SegmentEndKind::end) return;
  const SourceMap& sources = context_.sources();
  std::string text = fmt::format("compiled code ends for: {}", name_of(segment.end));
  if (segment.span.valid())
    text += fmt::format(", `{}` ({})", jit::excerpt(sources, segment.span), sources.location(segment.span));
  context_.write_log(log_entry("perf", region.title, text));
}

void TraceLog::on_abort(const jit::RegionNote& region, const std::string& reason, Span, uint32_t calls) {
  if (calls == 0) return;
  const std::string text = fmt::format("falls back to the interpreter for {} calls: {}", calls, reason);
  for (const char* topic : {"recompiles", "perf"}) {
    if (levels_.logs(topic)) context_.write_log(fmt::format("[{}] {} {}\n", topic, region.title, text));
  }
}

}  // namespace tsl
