#include "report/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/profile_table.h"

namespace tsl::report {

namespace {

// More lines of one kind say nothing new to people; the dump and the JSON have all.
constexpr size_t kMaxLines = 40;

std::string plural(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; size >= 10'000 && unit + 1 < std::size(kUnits); ++unit) size /= 1000;
  return fmt::format("{:.4g} {}", size, kUnits[unit]);
}

/// Lists ops, each with the file and line where it is new: "add, mul (train.tsl:12), sum (train.tsl:13)".
std::string list_of(const std::vector<OpRecord>& ops) {
  std::string text;
  for (size_t i = 0; i < ops.size() && i < kMaxLines; ++i) {
    const bool is_last_there = i + 1 == ops.size() || !(ops[i + 1].location.file == ops[i].location.file &&
                                                        ops[i + 1].location.line == ops[i].location.line &&
                                                        ops[i + 1].is_backward == ops[i].is_backward);
    text += i > 0 ? ", " : "";
    text += is_last_there ? to_string(ops[i]) : ops[i].name;
  }
  if (ops.size() > kMaxLines) text += fmt::format(", … {} more", ops.size() - kMaxLines);
  return text;
}

class Writer {
 public:
  explicit Writer(const ExplainOptions& options) : color_(options.color) {}

  std::string take() { return std::move(text_); }
  void line(int indent, const std::string& text) {
    text_ += std::string(2 * static_cast<size_t>(indent), ' ') + text + '\n';
  }
  std::string bold(const std::string& text) const { return color_ ? "\033[1m" + text + "\033[0m" : text; }
  std::string blue(const std::string& text) const { return color_ ? "\033[1;34m" + text + "\033[0m" : text; }
  std::string warn(const std::string& text) const { return color_ ? "\033[1;33m" + text + "\033[0m" : text; }

  /// Writes a line for each of `items`, up to kMaxLines.
  template <class Items, class Text> void lines(int indent, const Items& items, Text&& text) {
    size_t count = 0;
    for (const auto& item : items) {
      if (count++ == kMaxLines) break;
      line(indent, text(item));
    }
    if (items.size() > kMaxLines) line(indent, fmt::format("… {} more", items.size() - kMaxLines));
  }

 private:
  std::string text_;
  const bool color_;
};

struct Totals {
  uint64_t regions = 0, traces = 0, specialisations = 0, kernels = 0, replays = 0, traced = 0, interpreted = 0;
  double guards = 0;
};

Totals count(const std::vector<const RegionRecord*>& regions) {
  Totals t;
  t.regions = regions.size();
  for (const RegionRecord* r : regions) {
    t.traces += r->traces.size();
    t.specialisations += r->specialisations.size();
    for (const SpecialisationRecord& s : r->specialisations) t.kernels += s.kernels.size();
    t.replays += r->replays;
    t.traced += r->traced_calls;
    t.interpreted += r->interpreted_calls;
  }
  return t;
}

void write_summary(Writer& to, const Recording& recording, const std::vector<const RegionRecord*>& regions,
                   const ExplainOptions& options) {
  const Totals t = count(regions);
  const std::string title = options.title.empty() ? "the program" : options.title;
  if (regions.empty()) {
    to.line(0, fmt::format("{}: nothing was compiled", to.bold(title)));
  } else {
    to.line(0, fmt::format("{}: {} in {}, with {}", to.bold(title), plural(t.kernels, "kernel"),
                           plural(t.specialisations, "specialisation"), plural(t.traces, "trace")));
    to.line(0, fmt::format("calls and iterations: {} from plans, {} while tracing, {} interpreted", t.replays, t.traced,
                           t.interpreted));
  }
  for (const RegionRecord* r : regions) to.line(1, fmt::format("{}: {}", r->name, tier_of(*r)));
  if (options.title.empty() && recording.eager_plans > 0)
    to.line(0, fmt::format("outside regions: {} for single ops", plural(recording.eager_plans, "plan")));
  if (options.title.empty() && !recording.counters.empty()) to.line(0, recording.counters);
}

void write_guards(Writer& to, const SegmentRecord& segment) {
  if (segment.guards.empty()) return;
  double cost = 0;
  for (const GuardRecord& guard : segment.guards) cost += guard.nanoseconds;
  to.line(3, fmt::format("{}, about {} ns in all", plural(segment.guards.size(), "guard"), cost));
  to.lines(4, segment.guards, [](const GuardRecord& guard) { return guard.text; });
}

void write_traces(Writer& to, const RegionRecord& region) {
  if (!region.traces.empty()) to.line(1, to.blue("traces"));
  to.lines(2, region.traces, [](const TraceRecord& trace) { return trace.reason; });
  for (const TraceRecord& trace : region.traces) {
    for (const AbortRecord& abort : trace.aborts) {
      std::string text = fmt::format("aborted: {}", abort.reason);
      if (abort.location.valid())
        text += fmt::format(", at `{}` ({})", abort.location.source, to_string(abort.location));
      if (abort.calls > 0)
        text += fmt::format("; {} are interpreted before the next trace", plural(abort.calls, "call"));
      to.line(2, to.warn(text));
    }
  }
}

void write_segments(Writer& to, const RegionRecord& region) {
  if (!region.segments.empty()) to.line(1, to.blue("segments"));
  size_t count = 0;
  for (const SegmentRecord& segment : region.segments) {
    if (count++ == kMaxLines) break;
    to.line(2, fmt::format("segment {} ends with {}", segment.number, end_of(segment)));
    write_guards(to, segment);
  }
  if (region.segments.size() > kMaxLines) to.line(2, fmt::format("… {} more", region.segments.size() - kMaxLines));
}

void write_memory(Writer& to, const MemoryRecord& memory) {
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

void write_device_graph(Writer& to, const DeviceGraphRecord& graph) {
  if (graph.calls == 0) return;
  std::string text =
      fmt::format("graph of the device: {}, made {}", plural(graph.calls, "call"), plural(graph.made, "time"));
  if (graph.updated > 0) text += fmt::format(", arguments updated {}", plural(graph.updated, "time"));
  to.line(2, text);
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

std::string kernel_text(const KernelRecord& kernel) {
  std::string text =
      fmt::format("{}: {}, {}, at least {}", kernel.symbol, kernel.category, kernel.types, bytes_text(kernel.bytes));
  if (kernel.flops > 0) text += fmt::format(", {} flops", kernel.flops);
  const std::string facts = facts_of(kernel);
  if (!facts.empty()) text += "; " + facts;
  if (const KernelTimes& times = kernel.times; times.calls > 0) {
    text += fmt::format("; ran {}, {} each", plural(times.calls, "time"),
                        duration_text(times.seconds / static_cast<double>(times.calls)));
    text += to_text(kernel.prediction);
  }
  return text + fmt::format("; {}", list_of(kernel.ops));
}

void write_specialisation(Writer& to, const RegionRecord& region, const SpecialisationRecord& s) {
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
  to.line(1, text);
  to.lines(2, s.eliminated,
           [&](const OpRecord& op) { return to.warn("eliminated: ") + to_string(op) + ": its result is unused"; });
  to.lines(2, s.recomputed,
           [](const RecomputeRecord& r) { return fmt::format("recompute: {}: {}", to_string(r.op), r.decision); });
  to.lines(2, s.groups, [](const GroupRecord& group) {
    return fmt::format("group {} {}: {}", group.kind, group.loops, list_of(group.ops));
  });
  to.lines(2, s.missed, [](const MissedFusion& m) {
    return fmt::format("not fused: {} into {}: {}", to_string(m.producer), to_string(m.consumer), m.reason);
  });
  to.lines(2, s.kernels, [](const KernelRecord& kernel) { return "kernel " + kernel_text(kernel); });
  for (const KernelRecord& kernel : s.kernels) {
    if (!kernel.has_inputs)
      to.line(2, to.warn("constant: ") +
                     fmt::format("{} computes the same in every run; {}", kernel.symbol, list_of(kernel.ops)));
  }
  write_memory(to, s.memory);
  write_device_graph(to, s.device_graph);
}

}  // namespace

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
  if (is_complete) {
    text = "compiled";
    if (region.traces.size() > 1) text += fmt::format(", {} times", region.traces.size());
  } else {
    text = "interpreted";
  }
  if (is_complete && runs > 0) text += fmt::format("; {} of {} runs are from plans", region.replays, runs);
  if (abort) {
    text += fmt::format("; a trace was aborted: {}", abort->reason);
    if (abort->location.valid()) text += fmt::format(" ({})", to_string(abort->location));
  }
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

std::string explain(const Recording& recording, const ExplainOptions& options) {
  std::vector<const RegionRecord*> regions;
  for (const RegionRecord& region : recording.regions) {
    const auto& only = options.declarations;
    if (only.empty() || std::find(only.begin(), only.end(), region.declaration) != only.end())
      regions.push_back(&region);
  }
  Writer to(options);
  write_summary(to, recording, regions, options);
  for (const RegionRecord* region : regions) {
    to.line(0, "");
    to.line(0, fmt::format("{} ({}{}): {}", to.bold(region->name), region->is_loop ? "a loop, " : "",
                           to_string(region->location), tier_of(*region)));
    write_traces(to, *region);
    write_segments(to, *region);
    if (!region->specialisations.empty()) to.line(1, to.blue("specialisations"));
    for (const SpecialisationRecord& s : region->specialisations) write_specialisation(to, *region, s);
  }
  return to.take();
}

}  // namespace tsl::report
