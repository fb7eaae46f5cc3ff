#include "report/run_recorder.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/intern.h"
#include "graph/dump.h"
#include "graph/kernel_facts.h"
#include "graph/plan_steps.h"
#include "jit/guard_notes.h"
#include "report/dump_format.h"
#include "report/plan_json.h"
#include "syntax/parser.h"

namespace tsl::report {

namespace {

// Plans of more nodes are recorded without their texts, which would take more memory than the program.
constexpr uint32_t kMaxNodes = 5'000;
constexpr size_t kMaxMissed = 200;  // of one specialisation

uint32_t count_ops(const graph::Graph& graph) { return static_cast<uint32_t>(graph.size() - graph.inputs().size()); }

/// Formats the tree of a region as canonical text; its own text if that cannot be parsed alone.
std::string tree_text(const SourceMap& sources, Span extent) {
  if (!extent.valid()) return "";
  std::string text = sources.text(extent) + "\n";
  try {
    SourceMap alone;
    Interner names;
    const uint32_t id = alone.add("region", text);
    return format(*parse(alone, id, names));
  } catch (const Failure&) { return text; }
}

}  // namespace

Location RunRecorder::location_of(Span span) {
  if (!span.valid()) return {};
  const Source& source = sources_.get(span.source);
  const bool known = std::any_of(recording_.sources.begin(), recording_.sources.end(),
                                 [&](const SourceRecord& each) { return each.file == source.name(); });
  if (!known) recording_.sources.push_back({source.name(), source.text()});
  return {source.name(), source.line_of(span.begin), jit::excerpt(sources_, span)};
}

OpRecord RunRecorder::op_of(const graph::Node& node) {
  return {node.is_input ? "input" : graph::name_of(node), location_of(node.span), node.is_backward};
}

RegionRecord& RunRecorder::region_of(const jit::RegionNote& note) {
  const auto [entry, is_new] = index_.try_emplace(note.declaration, recording_.regions.size());
  if (!is_new) return recording_.regions[entry->second];
  RegionRecord& record = recording_.regions.emplace_back();
  record.declaration = note.declaration;
  record.name = note.name;
  record.function = note.function;
  record.is_loop = note.is_loop;
  record.location = location_of(note.span);
  if (note.extent.valid()) record.last_line = sources_.get(note.extent.source).line_of(note.extent.end - 1);
  record.tree = tree_text(sources_, note.extent);
  return record;
}

void RunRecorder::add_earlier(const jit::RegionNote& region, size_t paths) {
  region_of(region).earlier_paths += static_cast<uint32_t>(paths);
}

// ---- Traces ------------------------------------------------------------------------------------------------------

void RunRecorder::on_run(const void* declaration, jit::RunKind kind) {
  const auto found = index_.find(declaration);
  if (found == index_.end()) return;  // it was compiled before the recording began
  RegionRecord& record = recording_.regions[found->second];
  switch (kind) {
    case jit::RunKind::replayed: ++record.replays; return;
    case jit::RunKind::traced: ++record.traced_calls; return;
    case jit::RunKind::interpreted: ++record.interpreted_calls; return;
  }
}

void RunRecorder::on_trace(const jit::RegionNote& region, const jit::TraceReason& reason) {
  TraceRecord record;
  record.reason = to_text(reason, sources_);
  record.variable = reason.variable.name;
  record.before = reason.before;
  record.after = reason.after;
  record.origin = location_of(reason.variable.origin);
  record.needed = location_of(reason.needed);
  region_of(region).traces.push_back(std::move(record));
}

void RunRecorder::on_segment(const jit::RegionNote& region, const jit::SegmentNote& note) {
  RegionRecord& to = region_of(region);
  SegmentRecord& record = to.segments.emplace_back();
  record.number = static_cast<uint32_t>(to.segments.size());
  record.plans = note.plans;
  record.end = name_of(note.end);
  record.location = location_of(note.span);
  record.op = note.op;
  record.op_location = location_of(note.op_span);
  for (const jit::GuardNote& guard : note.guards) {
    record.guards.push_back({guard.variable.name, location_of(guard.variable.origin), guard.condition, guard.reason,
                             location_of(guard.needed), guard.nanoseconds, to_text(guard, sources_)});
  }
  if (!to.traces.empty()) to.traces.back().segments.push_back(record.number);
}

void RunRecorder::on_abort(const jit::RegionNote& region, const std::string& reason, Span at, uint32_t calls) {
  RegionRecord& to = region_of(region);
  if (to.traces.empty()) to.traces.emplace_back().reason = "a call that could not be traced";
  to.traces.back().aborts.push_back({reason, location_of(at), calls});
}

void RunRecorder::on_limit(const jit::RegionNote& region, const std::string& reason, Span at) {
  region_of(region).limits.push_back({reason, location_of(at)});
}

void RunRecorder::on_composition(const jit::RegionNote* region, const jit::CompositionNote& note) {
  std::vector<CompositionRecord>& to = region ? region_of(*region).compositions : recording_.compositions;
  CompositionRecord record{{std::string(note.op), location_of(note.span), note.is_backward}, std::string(note.reason)};
  auto known = std::find_if(to.begin(), to.end(), [&](const auto& each) { return each.is_like(record); });
  if (known == to.end()) known = to.insert(to.end(), std::move(record));
  ++known->calls;
}

void RunRecorder::on_specialisation(const jit::RegionNote& region, const jit::SpecialisationNote& note) {
  RegionRecord& to = region_of(region);
  current_region_ = index_.at(region.declaration);
  SpecialisationRecord& record = to.specialisations.emplace_back();
  record.name = note.name;
  record.plans = note.plans;
  record.sizes = note.sizes;
  record.stages.push_back({"01-ast", to.tree});
  last_graph_.clear();
}

void RunRecorder::on_forgotten(const void* declaration) {
  const auto found = index_.find(declaration);
  if (found == index_.end()) return;
  const auto region = recording_.regions.begin() + static_cast<ptrdiff_t>(found->second);
  const std::string file = region->location.file;
  recording_.regions.erase(region);
  index_.clear();
  for (size_t i = 0; i < recording_.regions.size(); ++i) index_[recording_.regions[i].declaration] = i;
  current_region_ = recording_.regions.size();
  const bool is_used = std::any_of(recording_.regions.begin(), recording_.regions.end(),
                                   [&](const RegionRecord& each) { return each.location.file == file; });
  if (!is_used) std::erase_if(recording_.sources, [&](const SourceRecord& each) { return each.file == file; });
}

// ---- Compilations ------------------------------------------------------------------------------------------------

SpecialisationRecord* RunRecorder::current(const graph::PlanOptions& options) {
  if (options.name.empty() || current_region_ >= recording_.regions.size()) return nullptr;
  std::vector<SpecialisationRecord>& all = recording_.regions[current_region_].specialisations;
  return all.empty() || all.back().name != options.name ? nullptr : &all.back();
}

void RunRecorder::on_recording(const graph::PlanOptions& options, const graph::Graph& graph) {
  if (options.name.empty()) ++recording_.eager_plans;
  SpecialisationRecord* to = current(options);
  if (!to) return;
  to->ops_recorded = to->ops_compiled = count_ops(graph);
  if (graph.size() > kMaxNodes) return;
  last_graph_ = dump(graph, &sources_);
  to->stages.push_back({kGraphStage, last_graph_});
  to->stages.push_back({"03-passes", ""});
}

void RunRecorder::on_pass(const graph::PlanOptions& options, const graph::Pass& pass, const graph::Graph& graph) {
  SpecialisationRecord* to = current(options);
  if (!to) return;
  to->ops_compiled = count_ops(graph);
  if (graph.size() > kMaxNodes) return;
  std::string text = dump(graph, &sources_);
  to->stages.back().text += fmt::format("after {}:{}\n", pass.name, text == last_graph_ ? " no change" : "");
  if (text != last_graph_) to->stages.back().text += text;
  last_graph_ = std::move(text);
}

void RunRecorder::on_eliminated(const graph::PlanOptions& options, const graph::Node& node) {
  if (SpecialisationRecord* to = current(options)) to->eliminated.push_back(op_of(node));
}

void RunRecorder::on_recompute(const graph::PlanOptions& options, const graph::Node& node, const char* decision) {
  SpecialisationRecord* to = current(options);
  if (!to || to->recomputed.size() >= kMaxMissed) return;
  RecomputeRecord record{op_of(node), decision};
  const auto is_same = [&](const RecomputeRecord& each) {
    return each.op.name == record.op.name && each.op.location == record.op.location && each.decision == decision;
  };
  if (std::none_of(to->recomputed.begin(), to->recomputed.end(), is_same)) to->recomputed.push_back(std::move(record));
}

void RunRecorder::on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) {
  SpecialisationRecord* to = current(options);
  if (!to) return;
  for (const graph::Group& group : fusion.groups) {
    GroupRecord& record = to->groups.emplace_back();
    record.kind = group.is_op ? "op" : group.rows_stay ? "row" : group.has_reduction ? "reduce" : "pointwise";
    std::vector<int64_t> loops;
    for (Dim extent : group.loops) loops.push_back(extent.hint());
    record.loops = fmt::format("[{}]", fmt::join(loops, ", "));
    for (graph::NodeId id : group.nodes) record.ops.push_back(op_of(graph[id]));
  }
  const auto miss = [&](graph::NodeId producer, graph::NodeId consumer, std::string reason) {
    const int from = fusion.group_of[producer], into = fusion.group_of[consumer];
    if (from < 0 || from == into || to->missed.size() >= kMaxMissed) return;
    const auto is_same = [&](const MissedFusion& each) {
      return each.from == static_cast<uint32_t>(from) && each.into == static_cast<uint32_t>(into);
    };
    if (std::any_of(to->missed.begin(), to->missed.end(), is_same)) return;
    to->missed.push_back({op_of(graph[producer]), op_of(graph[consumer]), std::move(reason),
                          static_cast<uint32_t>(from), static_cast<uint32_t>(into)});
  };
  for (const graph::FusionDecision& d : fusion.decisions) miss(d.producer, d.consumer, d.reason);
  for (graph::NodeId id = 0; id < graph.size(); ++id) {
    for (const graph::Arg& arg : graph[id].args) {
      if (!arg.is_tensor() || graph[arg.node].is_input || fusion.group_of[id] < 0) continue;
      const bool is_op = fusion.groups[static_cast<size_t>(fusion.group_of[id])].is_op;
      const graph::Node& alone = graph[is_op ? id : arg.node];
      if (fuses(alone.def())) miss(arg.node, id, "their groups were formed apart");
      else miss(arg.node, id, fmt::format("{} has a kernel of its own", graph::name_of(alone)));
    }
  }
  if (graph.size() <= kMaxNodes) {
    to->stages.push_back({"04-fused", dump(graph, fusion, &sources_)});
    to->graphviz = graphviz_of(graph, fusion, options.name);
  }
}

namespace {

/// Counts the launches between a sum over ranks and the first that reads it, without other sums.
uint32_t launches_beside(const graph::Plan& plan, uint32_t sum) {
  const auto is_sum = [&](uint32_t k) { return graph::is_of_program(plan, plan.kernels[k]); };
  const auto needs = [&](uint32_t k) {
    const std::vector<uint32_t>& buffers = plan.kernels[k].buffers;
    return !is_sum(k) && std::find(buffers.begin(), buffers.end(), plan.kernels[sum].buffers.back()) != buffers.end();
  };
  uint32_t beside = 0;
  bool is_after = false;
  for (const std::vector<uint32_t>& launch : plan.launches) {
    if (is_after && std::any_of(launch.begin(), launch.end(), needs)) break;
    beside += is_after && !is_sum(launch[0]);
    is_after |= launch[0] == sum;
  }
  return beside;
}

}  // namespace

void RunRecorder::on_plan(const graph::Plan& plan) {
  SpecialisationRecord* to = current(plan.options);
  if (!to) return;
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const graph::Buffer& buffer = plan.buffers[b];
    const uint64_t bytes = graph::bytes_of(buffer);
    to->memory.aliases += buffer.alias_of != b;
    switch (buffer.kind) {
      case graph::Buffer::Kind::input: to->memory.inputs += bytes; break;
      case graph::Buffer::Kind::output: to->memory.outputs += bytes; break;
      case graph::Buffer::Kind::temporary: to->memory.temporaries += bytes; break;
    }
  }
  to->memory.arena = plan.arena_bytes;
  to->memory.donations = static_cast<uint32_t>(
      std::count_if(plan.donors.begin(), plan.donors.end(), [](const auto& inputs) { return !inputs.empty(); }));
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) {
    if (!graph::is_of_program(plan, plan.kernels[k])) continue;
    const graph::Buffer& summed = plan.buffers[plan.kernels[k].buffers.back()];
    const graph::Node& node = plan.graph[plan.kernels[k].op_node];
    to->sums.push_back({op_of(node), fmt::format("{}{}", name_of(node.dtype), to_string(node.shape)),
                        static_cast<uint64_t>(summed.count.hint()) * size_of(summed.dtype), launches_beside(plan, k)});
  }
  if (plan.graph.size() <= kMaxNodes) to->stages.push_back({"plan", dump(plan)});
}

namespace {

/// Returns the code of a kernel; that of its whole launch if the device does not name the launch's kernels apart.
exec::KernelSource code_of(const exec::LoadedKernel& kernel, const std::vector<exec::KernelSource>& sources) {
  exec::KernelSource of_launch;
  for (const exec::KernelSource& source : sources) {
    if (source.launch != kernel.launch) continue;
    if (source.name == kernel.name) return source;
    of_launch.text += of_launch.text.empty() ? source.text : "\n" + source.text;
  }
  return of_launch;
}

}  // namespace

void RunRecorder::on_executable(const exec::Executable& executable) {
  const graph::Plan& plan = executable.plan();
  SpecialisationRecord* to = current(plan.options);
  if (!to) return;
  if (executable.has_graphs()) to->device_graph.why_not = "it has not run";
  const std::vector<exec::KernelSource> sources = executable.sources();
  for (const exec::LoadedKernel& loaded : executable.kernels()) {
    const std::vector<uint32_t>& launch = plan.launches[loaded.launch];
    const graph::KernelFacts facts = graph::facts_of(plan, launch);
    KernelRecord& record = to->kernels.emplace_back();
    record.symbol = loaded.name;
    record.name = facts.name;
    record.category = name_of(facts.category);
    record.types = facts.types;
    record.bytes = facts.bytes;
    record.flops = facts.flops;
    record.launch = loaded.launch;
    for (const graph::KernelFacts::SourceOp& op : facts.ops)
      record.ops.push_back({op.name, location_of(op.origin.span), op.origin.is_backward, op.part});
    record.blocks = loaded.blocks;
    record.threads = loaded.threads;
    record.registers = loaded.registers;
    record.spilled = loaded.spilled;
    record.shared = loaded.shared;
    record.occupancy = loaded.occupancy;
    record.choice = loaded.choice;
    const std::vector<exec::KernelCandidate> candidates = executable.candidates(loaded.launch);
    if (candidates.size() > 1) record.candidates = to_text(candidates);
    record.has_inputs = !facts.is_constant;
    if (!launch.empty() && plan.graph.size() <= kMaxNodes) record.ir = dump(plan.kernels[launch[0]]);
    exec::KernelSource source = code_of(loaded, sources);
    record.code = std::move(source.text);
    record.prelude = std::move(source.prelude);
  }
  if (plan.graph.size() <= kMaxNodes) to->plan_json = plan_json(executable);
}

namespace {

/// Says why a plan's calls are not launched as graphs; "" if they are.
const char* why_no_graph(exec::GraphState state) {
  switch (state) {
    case exec::GraphState::launched: return "";
    case exec::GraphState::no_calls: return "its ops run one by one";
    case exec::GraphState::off: return "--cuda-graphs is off";
    case exec::GraphState::off_for_plan: return "its function says graphs: \"off\"";
    case exec::GraphState::first_run: return "it has run once, and the second run makes it";
    case exec::GraphState::unrecorded: return "a call of a library could not be recorded";
    case exec::GraphState::timed:
      return "the profile times its calls one by one, since there is no CUPTI; an unprofiled run launches it";
  }
  return "";
}

}  // namespace

void RunRecorder::on_device_graph(const graph::PlanOptions& options, const exec::GraphNote& note) {
  for (RegionRecord& region : recording_.regions) {
    for (SpecialisationRecord& each : region.specialisations) {
      if (each.name != options.name) continue;
      DeviceGraphRecord& graph = each.device_graph;
      graph.made += note.made;
      graph.updated += note.updated;
      graph.calls = graph.made > 0 ? note.calls : 0;
      graph.alone = note.alone;
      graph.why_not = why_no_graph(note.state);
      graph.is_timed = note.state == exec::GraphState::timed;
    }
  }
}

}  // namespace tsl::report
