// Renders one region of a recording.
#include <algorithm>

#include <fmt/format.h>

#include "profile/profile_table.h"
#include "report/explain.h"
#include "report/explain_writer.h"

namespace tsl::report {

namespace {

std::string bytes_text(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; size >= 10'000 && unit + 1 < std::size(kUnits); ++unit) size /= 1000;
  return fmt::format("{:.4g} {}", size, kUnits[unit]);
}

/// Describes what the guards of a segment take: "12 guards, about 90 ns in all"; "" if there are none.
std::string guards_text(const SegmentRecord& segment) {
  if (segment.guards.empty()) return "";
  double cost = 0;
  for (const GuardRecord& guard : segment.guards) cost += guard.nanoseconds;
  return fmt::format("; {}, about {} ns in all", plural(segment.guards.size(), "guard"), cost);
}

void write_traces(ExplainWriter& to, const RegionRecord& region) {
  if (!region.traces.empty()) to.line(1, to.blue("traces"));
  to.list(2, region.traces, to.limits().traces, [](const TraceRecord& trace) { return trace.reason; });
  std::vector<std::string> aborts;
  for (const TraceRecord& trace : region.traces) {
    for (const AbortRecord& abort : trace.aborts) {
      std::string text = fmt::format("aborted: {}", abort.reason);
      if (abort.location.valid())
        text += fmt::format(", at `{}` ({})", abort.location.source, to_string(abort.location));
      if (abort.calls > 0)
        text += fmt::format("; {} are interpreted before the next trace", plural(abort.calls, "call"));
      aborts.push_back(to.warn(text));
    }
  }
  to.list(2, aborts, to.limits().traces, [](const std::string& text) { return text; });
}

void write_segments(ExplainWriter& to, const RegionRecord& region) {
  if (!region.segments.empty()) to.line(1, to.blue("segments"));
  const size_t most = to.limits().segments;
  for (size_t i = 0; i < region.segments.size() && i < most; ++i) {
    const SegmentRecord& segment = region.segments[i];
    to.line(2, fmt::format("segment {} ends with {}{}", segment.number, end_of(segment), guards_text(segment)));
    to.list(3, segment.guards, to.limits().guards, [](const GuardRecord& guard) { return guard.text; });
  }
  if (region.segments.size() > most) to.more(2, region.segments.size() - most);
}

void write_compositions(ExplainWriter& to, const RegionRecord& region) {
  if (region.compositions.empty()) return;
  to.line(1, to.blue("compositions"));
  to.list(2, region.compositions, to.limits().segments, composition_text);
}

void write_memory(ExplainWriter& to, const MemoryRecord& memory) {
  std::string text =
      fmt::format("memory: inputs {}, outputs {}", bytes_text(memory.inputs), bytes_text(memory.outputs));
  if (memory.temporaries > 0)
    text += fmt::format(", temporaries {} in an arena of {}", bytes_text(memory.temporaries), bytes_text(memory.arena));
  if (memory.aliases > 0)
    text += fmt::format("; {} the memory of another",
                        memory.aliases == 1 ? "1 buffer uses" : fmt::format("{} buffers use", memory.aliases));
  if (memory.donations > 0) text += fmt::format("; {} may reuse an input's", plural(memory.donations, "output"));
  to.line(2, text);
}

void write_device_graph(ExplainWriter& to, const DeviceGraphRecord& graph) {
  if (graph.is_timed && graph.calls > 0)
    return to.line(2, fmt::format("CUDA graph: {}, not launched: {}", plural(graph.calls, "call"), graph.why_not));
  if (graph.calls > 0) {
    std::string text = fmt::format("CUDA graph: {}, made {}", plural(graph.calls, "call"), plural(graph.made, "time"));
    if (graph.updated > 0) text += fmt::format(", arguments updated {}", plural(graph.updated, "time"));
    if (graph.alone > 0) text += fmt::format("; {} beside it", plural(graph.alone, "op"));
    to.line(2, text);
  }
  if (!graph.why_not.empty())
    to.line(2, fmt::format("{}: {}", graph.calls > 0 ? "not launched by it in the last run" : "no CUDA graph",
                           graph.why_not));
}

/// Formats a prediction: ", predicted 11.0 us"; "" if there is none.
std::string to_text(const Prediction& prediction) {
  if (prediction.seconds == 0) return "";
  std::string text = fmt::format(", predicted {}", duration_text(prediction.seconds));
  if (prediction.kernels > 1) text += fmt::format(" for the {} kernels of its launch", prediction.kernels);
  if (differs(prediction)) {
    const double ratio = prediction.ratio();
    text += ratio > 1 ? fmt::format(": the fastest call takes {:.1f} times as long", ratio)
                      : fmt::format(": the fastest call takes {:.2f} of that", ratio);
  }
  return text;
}

/// Returns the share of the run that a specialisation's kernels took.
double share_of(const SpecialisationRecord& specialisation) {
  double share = 0;
  for (const KernelRecord& kernel : specialisation.kernels) share += kernel.times.share;
  return share;
}

std::string heading_of(const ExplainWriter& to, const RegionRecord& region, const SpecialisationRecord& s) {
  std::string of;
  for (const SegmentRecord& segment : region.segments) {
    if (segment.plans == s.plans) of = fmt::format(" (segment {})", segment.number);
  }
  std::string text = fmt::format("{}{}: {} recorded, {} compiled to {}", to.bold(s.name), of,
                                 plural(s.ops_recorded, "op"), s.ops_compiled, plural(s.kernels.size(), "kernel"));
  if (s.kernels.empty() && s.ops_recorded == 0) text += ": it only views its inputs";
  else if (s.kernels.empty())
    text += s.ops_compiled == 0 ? ": its results are unused, or inputs" : ": they could not be loaded";
  if (!s.sizes.empty()) text += ", for " + s.sizes;
  return text + share_text(share_of(s));
}

/// Selects items that are worth a line, the one that took most time first.
template <class Item, class Share>
std::vector<const Item*> hottest_first(const std::vector<Item>& items, Share&& share) {
  std::vector<const Item*> sorted;
  for (const Item& item : items) sorted.push_back(&item);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Item* a, const Item* b) { return share(*a) > share(*b); });
  return sorted;
}

void write_specialisation(ExplainWriter& to, const RegionRecord& region, const SpecialisationRecord& s) {
  const ExplainLimits& limits = to.limits();
  to.line(1, heading_of(to, region, s));
  const auto kernels = hottest_first(s.kernels, [](const KernelRecord& kernel) { return kernel.times.share; });
  to.list(2, kernels, limits.kernels, [&](const KernelRecord* kernel) { return "kernel " + kernel_text(to, *kernel); });
  std::vector<const KernelRecord*> chosen = kernels;
  std::erase_if(chosen, [](const KernelRecord* kernel) { return kernel->candidates.empty(); });
  to.list(2, chosen, limits.kernels, [](const KernelRecord* kernel) {
    return fmt::format("kernels for {}: {}", kernel->name, kernel->candidates);
  });
  to.list(2, s.missed, limits.missed, [](const MissedFusion& m) {
    return fmt::format("not fused: {} into {}: {}", to_string(m.producer), to_string(m.consumer), m.reason);
  });
  to.list(2, s.eliminated, limits.eliminated,
          [&](const OpRecord& op) { return to.warn("eliminated: ") + to_string(op) + ": its result is unused"; });
  to.list(2, s.recomputed, limits.recomputed,
          [](const RecomputeRecord& r) { return fmt::format("recompute: {}: {}", to_string(r.op), r.decision); });
  std::vector<const KernelRecord*> constants = kernels;
  std::erase_if(constants, [](const KernelRecord* kernel) { return kernel->has_inputs; });
  to.list(2, constants, limits.constants, [&](const KernelRecord* kernel) {
    return to.warn("constant: ") +
           fmt::format("{} computes the same in every run; {}", kernel->symbol, to.list_of(kernel->ops));
  });
  to.list(2, s.sums, limits.kernels, [](const SumRecord& sum) {
    return fmt::format("sum over ranks: {}, {}; of the launches after it {} need not wait for it; {}", sum.type,
                       bytes_text(sum.bytes), sum.beside, to_string(sum.op));
  });
  to.list(2, s.groups, limits.groups, [&](const GroupRecord& group) {
    return fmt::format("group {} {}: {}", group.kind, group.loops, to.list_of(group.ops));
  });
  write_memory(to, s.memory);
  write_device_graph(to, s.device_graph);
}

/// Adds the specialisations that took most time, and a line for each other one.
void write_specialisations(ExplainWriter& to, const RegionRecord& region) {
  if (region.specialisations.empty()) return;
  to.line(1, to.blue("specialisations"));
  const auto sorted = hottest_first(region.specialisations, share_of);
  const size_t most = std::min(sorted.size(), to.limits().specialisations);
  for (size_t i = 0; i < most; ++i) write_specialisation(to, region, *sorted[i]);
  const std::vector<const SpecialisationRecord*> others(sorted.begin() + static_cast<ptrdiff_t>(most), sorted.end());
  to.list(1, others, to.limits().list, [&](const SpecialisationRecord* s) { return heading_of(to, region, *s); });
}

}  // namespace

std::string composition_text(const CompositionRecord& composition) {
  return fmt::format("{} is made of other ops, {}: {}", to_string(composition.op), plural(composition.calls, "time"),
                     composition.reason);
}

std::string share_text(double share) {
  constexpr double kLeast = 0.0005;
  return share < kLeast ? "" : fmt::format("; {:.1f} % of the run", 100 * share);
}

std::string kernel_text(const ExplainWriter& to, const KernelRecord& kernel) {
  std::string text = fmt::format("{}: {}", kernel.symbol, kernel.category);
  if (!kernel.types.empty()) text += ", " + kernel.types;  // a device's own fill has none
  text += ", at least " + bytes_text(kernel.bytes);
  if (kernel.flops > 0) text += fmt::format(", {} flops", kernel.flops);
  const std::string facts = facts_of(kernel);
  if (!facts.empty()) text += "; " + facts;
  if (const KernelTimes& times = kernel.times; times.calls > 0) {
    text += fmt::format("; ran {}, {} each", plural(times.calls, "time"),
                        duration_text(times.seconds / static_cast<double>(times.calls)));
    text += to_text(kernel.prediction) + share_text(times.share);
  }
  return text + fmt::format("; {}", to.list_of(kernel.ops));
}

void write_region(ExplainWriter& to, const RegionRecord& region) {
  to.line(0, fmt::format("{} ({}{}): {}{}", to.bold(region.name), region.is_loop ? "a loop, " : "",
                         to_string(region.location), tier_of(region), share_text(region.times.share)));
  write_traces(to, region);
  write_segments(to, region);
  write_compositions(to, region);
  write_specialisations(to, region);
}

bool differs(const Prediction& prediction) {
  constexpr double kMost = 2;
  const double ratio = prediction.ratio();
  return prediction.calls > 1 && ratio > 0 && (ratio > kMost || ratio < 1 / kMost);
}

std::string to_string(const OpRecord& op) {
  std::string text = op.name;
  if (op.location.valid()) text += fmt::format(" ({}{})", op.is_backward ? "backward of " : "", to_string(op.location));
  return text;
}

std::string tier_of(const RegionRecord& region) {
  const uint64_t runs = region.replays + region.traced_calls + region.interpreted_calls;
  const AbortRecord* abort = nullptr;
  for (const TraceRecord& trace : region.traces) {
    if (!trace.aborts.empty()) abort = &trace.aborts.back();
  }
  std::string text;
  const bool is_complete = std::any_of(region.segments.begin(), region.segments.end(),
                                       [](const SegmentRecord& s) { return s.end == "end"; });
  const size_t times = region.traces.size() + region.earlier_paths;
  const bool is_compiled = is_complete || region.earlier_paths > 0;
  text = is_compiled ? "compiled" : "interpreted";
  if (is_compiled && times > 1) text += fmt::format(", {} times", times);
  if (region.earlier_paths > 0) text += ", before explain() recorded";
  if (is_compiled && runs > 0) text += fmt::format("; {} of {} runs are from plans", region.replays, runs);
  if (abort) {
    text += fmt::format("; a trace was aborted: {}", abort->reason);
    if (abort->location.valid()) text += fmt::format(" ({})", to_string(abort->location));
  }
  for (const LimitRecord& limit : region.limits)
    text += fmt::format("; {} ({})", limit.reason, to_string(limit.location));
  return text;
}

std::string end_of(const SegmentRecord& segment) {
  if (segment.end == "end") return "the end of the region";
  std::string text = segment.end;
  if (segment.end == "host read" || segment.end == "copy to another device") text = "a " + text;
  if (segment.end == "effect") text = "an effect";
  if (segment.location.valid())
    text += fmt::format(": `{}` ({})", segment.location.source, to_string(segment.location));
  if (!segment.op.empty()) text += fmt::format(" reads the result of {}", to_string({segment.op, segment.op_location}));
  return text;
}

std::string facts_of(const KernelRecord& kernel) {
  std::vector<std::string> facts;
  if (kernel.blocks > 0) facts.push_back(fmt::format("{} blocks of {} threads", kernel.blocks, kernel.threads));
  if (kernel.registers >= 0) facts.push_back(fmt::format("registers {}", kernel.registers));
  if (kernel.spilled > 0) facts.push_back(fmt::format("spilled {}", bytes_text(static_cast<uint64_t>(kernel.spilled))));
  if (kernel.shared > 0) facts.push_back(fmt::format("shared {}", bytes_text(static_cast<uint64_t>(kernel.shared))));
  if (kernel.occupancy >= 0) facts.push_back(fmt::format("occupancy {:.0f} %", 100 * kernel.occupancy));
  if (!kernel.choice.empty()) facts.push_back(fmt::format("launched with {}", kernel.choice));
  return fmt::format("{}", fmt::join(facts, ", "));
}

}  // namespace tsl::report
