// What a rank of a program did with the other ranks.
#include <algorithm>

#include <fmt/format.h>

#include "profile/profile_table.h"
#include "tensor/block_cache.h"

namespace tsl::report {

using exec::ActivityKind;

RankTimes rank_times(const ProfileView& view) {
  RankTimes times;
  for (const ProfileRow& row : view.profile.rows()) {
    const exec::Activity& of = view.timeline[row.id];
    const bool is_meeting = of.kind == ActivityKind::meet;
    if (!is_meeting && of.kind != ActivityKind::pass) continue;
    (is_meeting ? times.waits : times.passes) += view.timeline.seconds(static_cast<double>(row.ticks));
    times.unhidden += view.timeline.seconds(row.share_ticks);
    if (is_meeting) continue;
    times.calls += row.calls;
    times.bytes += row.calls * of.facts.bytes;
  }
  return times;
}

std::vector<std::string> rank_verdicts(const ProfileView& view) {
  constexpr double kGiga = 1e9, kLeast = 0.01;
  const RankTimes own = rank_times(view);
  if (own.calls == 0) return {};
  std::string rate;
  if (own.passes > 0 && own.bytes > 0)
    rate = fmt::format(", {} GB/s", digits(static_cast<double>(own.bytes) / own.passes / kGiga));
  std::vector<std::string> lines = {
      fmt::format("{} call{} pass {} between ranks in {}{}, after waiting {} for the other ranks; {} of both are not "
                  "hidden behind kernels",
                  own.calls, own.calls == 1 ? "" : "s", describe_bytes(own.bytes), duration_text(own.passes), rate,
                  duration_text(own.waits), duration_text(own.unhidden))};
  if (view.ranks.size() < 2) return lines;
  const auto by_waits = [](const RankTimes& a, const RankTimes& b) { return a.waits < b.waits; };
  const auto [least, most] = std::minmax_element(view.ranks.begin(), view.ranks.end(), by_waits);
  const double whole =
      view.timeline.seconds(static_cast<double>(view.profile.end_ticks() - view.profile.begin_ticks()));
  if (most->waits - least->waits < kLeast * whole) return lines;
  lines.push_back(fmt::format("rank {} is the slowest: it waits {} for the others, and rank {} waits {}",
                              least - view.ranks.begin(), duration_text(least->waits), most - view.ranks.begin(),
                              duration_text(most->waits)));
  return lines;
}

}  // namespace tsl::report
