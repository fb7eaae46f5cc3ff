#include "report/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/display_width.h"
#include "report/explain_writer.h"

namespace tsl::report {

std::string plural(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void ExplainWriter::line(int indent, const std::string& text) {
  lines_.push_back(cut_to_width(std::string(2 * static_cast<size_t>(indent), ' ') + text, limits_.width));
}

void ExplainWriter::add_region(const ExplainWriter& region) {
  const std::vector<std::string>& lines = region.lines();
  const size_t most = limits_.region;
  if (lines.size() <= most) {
    lines_.insert(lines_.end(), lines.begin(), lines.end());
    return;
  }
  lines_.insert(lines_.end(), lines.begin(), lines.begin() + static_cast<ptrdiff_t>(most - 1));
  line(1, fmt::format("… {} more lines, which --all or `explain(all: true)` shows", lines.size() - most + 1));
}

std::string ExplainWriter::list_of(const std::vector<OpRecord>& ops) const {
  std::string text;
  for (size_t i = 0; i < ops.size() && i < limits_.ops; ++i) {
    const bool is_last_there = i + 1 == ops.size() || !(ops[i + 1].location.file == ops[i].location.file &&
                                                        ops[i + 1].location.line == ops[i].location.line &&
                                                        ops[i + 1].is_backward == ops[i].is_backward);
    text += i > 0 ? ", " : "";
    text += is_last_there ? to_string(ops[i]) : ops[i].name;
  }
  if (ops.size() > limits_.ops) text += fmt::format(", … {} more", ops.size() - limits_.ops);
  return text;
}

namespace {

struct Totals {
  uint64_t traces = 0, specialisations = 0, kernels = 0, replays = 0, traced = 0, interpreted = 0, earlier = 0;
};

using Regions = std::vector<const RegionRecord*>;

Totals count(const Regions& regions) {
  Totals t;
  for (const RegionRecord* r : regions) {
    t.traces += r->traces.size();
    t.specialisations += r->specialisations.size();
    for (const SpecialisationRecord& s : r->specialisations) t.kernels += s.kernels.size();
    t.replays += r->replays;
    t.traced += r->traced_calls;
    t.interpreted += r->interpreted_calls;
    t.earlier += r->earlier_paths;
  }
  return t;
}

/// Selects regions, the one that took most time first; without times in the order of their first calls.
Regions regions_of(const Recording& recording, const ExplainOptions& options) {
  Regions regions;
  for (const RegionRecord& region : recording.regions) {
    const auto& only = options.declarations;
    if (!only || std::find(only->begin(), only->end(), region.declaration) != only->end()) regions.push_back(&region);
  }
  std::stable_sort(regions.begin(), regions.end(),
                   [](const RegionRecord* a, const RegionRecord* b) { return a->times.seconds > b->times.seconds; });
  return regions;
}

/// Says why nothing was compiled, and what would be.
std::string nothing_text(const Recording& recording, const ExplainOptions& options) {
  if (!recording.why_not.empty()) return "nothing was compiled: " + recording.why_not;
  if (recording.compiles == "all" || !options.title.empty()) return "nothing was compiled";
  return "nothing was compiled: no call reached a function with @compile; --compile compiles calls and loops, too";
}

void write_summary(ExplainWriter& to, const Recording& recording, const Regions& regions,
                   const ExplainOptions& options) {
  const std::string title = to.bold(options.title.empty() ? "the program" : options.title);
  if (regions.empty()) {
    to.line(0, fmt::format("{}: {}", title, nothing_text(recording, options)));
  } else {
    const Totals t = count(regions);
    to.line(0, fmt::format("{}: {} in {}, with {}", title, plural(t.kernels, "kernel"),
                           plural(t.specialisations, "specialisation"), plural(t.traces, "trace")));
    to.line(0, fmt::format("calls and iterations: {} from plans, {} while tracing, {} interpreted", t.replays, t.traced,
                           t.interpreted));
    if (t.earlier > 0)
      to.line(0, fmt::format("not recorded: {} from before; call explain() before the first calls, to record all",
                             plural(t.earlier, "trace")));
  }
  to.list(1, regions, to.limits().list, [&](const RegionRecord* r) {
    return fmt::format("{}: {}{}", r->name, tier_of(*r), share_text(r->times.share));
  });
  if (!options.title.empty()) return;
  if (recording.eager_plans > 0)
    to.line(0, fmt::format("outside regions: {} for single ops", plural(recording.eager_plans, "plan")));
  to.list(1, recording.eager_kernels, to.limits().list,
          [&](const KernelRecord& kernel) { return kernel_text(to, kernel); });
  to.list(1, recording.compositions, to.limits().list, composition_text);
  if (!recording.counters.empty()) to.line(0, recording.counters);
}

}  // namespace

std::vector<const void*> declarations_of(const Recording& recording, const std::string& function) {
  std::vector<const void*> found;
  for (const RegionRecord& region : recording.regions) {
    if (region.function == function || region.name == function) found.push_back(region.declaration);
  }
  return found;
}

std::vector<std::string> functions_of(const Recording& recording) {
  std::vector<std::string> names;
  for (const RegionRecord& region : recording.regions) {
    const std::string& name = region.function.empty() ? region.name : region.function;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string explain(const Recording& recording, const ExplainOptions& options) {
  ExplainLimits limits = options.all ? kNoLimits : kScreenLimits;
  if (options.width > 0) limits.width = std::min(limits.width, options.width);
  const Regions regions = regions_of(recording, options);
  ExplainWriter to(limits, options.color);
  write_summary(to, recording, regions, options);
  for (const RegionRecord* region : regions) {
    to.line(0, "");
    ExplainWriter screen(limits, options.color);
    write_region(screen, *region);
    to.add_region(screen);
  }
  return fmt::format("{}\n", fmt::join(to.lines(), "\n"));
}

}  // namespace tsl::report
