#include "profile/profile_ranges.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;

namespace {

std::string join(const std::string& outer, const std::string& inner) {
  return outer.empty() || inner.empty() ? outer + inner : outer + "." + inner;
}

/// Returns the range around a row's ops: of the call of the region, or of the eager op itself.
uint32_t outer_range(const ProfileView& view, const ProfileRow& row) {
  return row.range != 0 ? row.range : view.timeline.origin(row.origin).range;
}

/// The most calls of a kernel in a range: by region, by the position of the segment, and by specialisation.
using RunCounts = std::map<std::string, std::map<uint32_t, std::map<std::string, uint64_t>>>;

/// Returns the name of the region that a kernel's plan belongs to: "step:12" of "step:12#0".
std::string region_of(const Activity& kernel) { return kernel.plan.substr(0, kernel.plan.find('#')); }

/// Returns how often a range ran. Each run passes all segments of a path, and one specialisation of each.
uint64_t runs_of(const RunCounts& counts) {
  uint64_t runs = 0;
  for (const auto& [region, segments] : counts) {
    uint64_t most = 0;
    for (const auto& [position, plans] : segments) {
      uint64_t sum = 0;
      for (const auto& [plan, calls] : plans) sum += calls;
      most = std::max(most, sum);
    }
    runs += most;
  }
  return runs;
}

}  // namespace

std::vector<std::string> paths_around(const RangeTable& ranges, uint32_t outer, uint32_t inner) {
  std::vector<std::string> paths;
  for (; inner != 0; inner = ranges.outer(inner)) paths.push_back(join(ranges.path(outer), ranges.path(inner)));
  for (; outer != 0; outer = ranges.outer(outer)) paths.push_back(ranges.path(outer));
  std::reverse(paths.begin(), paths.end());
  return paths;
}

std::map<std::string, double> range_parts(const ProfileView& view, const ProfileRow& row) {
  std::map<std::string, double> parts;
  const std::string outer = view.sources.ranges().path(outer_range(view, row));
  for (const graph::KernelFacts::SourceOp& op : view.timeline[row.id].facts.ops)
    parts[join(outer, view.sources.ranges().path(op.origin.range))] += op.part;
  if (parts.empty()) parts[outer] = 1;
  return parts;
}

std::string named_ranges_text(const ProfileView& view, const ProfileRow& row) {
  const RangeTable& ranges = view.sources.ranges();
  const uint32_t outer = outer_range(view, row);
  std::vector<std::string> paths;
  for (const graph::KernelFacts::SourceOp& op : view.timeline[row.id].facts.ops) {
    if (ranges.is_named(outer) || ranges.is_named(op.origin.range))
      paths.push_back(join(ranges.path(outer), ranges.path(op.origin.range)));
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  constexpr size_t kMost = 3;
  const size_t more = paths.size() - std::min(paths.size(), kMost);
  paths.resize(paths.size() - more);
  return fmt::format("{}{}", fmt::join(paths, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<RangeShare> range_shares(const ProfileView& view) {
  const RangeTable& ranges = view.sources.ranges();
  std::map<std::string, RangeShare> all;
  std::map<std::string, RunCounts> runs;
  for (const ProfileRow& row : view.profile.rows()) {
    const Activity& activity = view.timeline[row.id];
    if (activity.kind != ActivityKind::kernel || row.calls == 0) continue;
    const auto& ops = activity.facts.ops;
    const uint32_t around = outer_range(view, row);
    const size_t outer_count = paths_around(ranges, around, 0).size();
    std::set<std::string> seen;
    const auto add = [&](uint32_t inner, double ticks) {
      const std::vector<std::string> paths = paths_around(ranges, around, inner);
      for (size_t i = 0; i < paths.size(); ++i) {
        all[paths[i]].ticks += ticks;
        seen.insert(paths[i]);
        if (i < outer_count) continue;  // its scopes count the runs
        uint64_t& most = runs[paths[i]][region_of(activity)][activity.segment][activity.plan];
        most = std::max(most, row.calls);
      }
    };
    for (const graph::KernelFacts::SourceOp& op : ops) add(op.origin.range, op.part * row.share_ticks);
    if (ops.empty()) add(0, row.share_ticks);
    for (const std::string& path : seen) all[path].launches += row.calls;
  }
  for (const auto& [path, counts] : runs) all[path].runs += runs_of(counts);
  for (const ProfileScope& scope : view.profile.scopes()) {
    const Activity& activity = view.timeline[scope.id];
    if (activity.kind != ActivityKind::range) continue;
    if (const auto at = all.find(activity.name); at != all.end()) at->second.runs += scope.calls;
  }
  std::vector<RangeShare> sorted;
  for (auto& [path, share] : all) {
    share.path = path;
    sorted.push_back(std::move(share));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RangeShare& a, const RangeShare& b) { return a.ticks > b.ticks; });
  return sorted;
}

}  // namespace tsl::report
