// What a profile means in words.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "profile/host_time.h"
#include "profile/profile_table.h"

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;

namespace {

/// Whether an activity happens once for each program, region or size, and not in its later runs.
bool is_once(ActivityKind kind) {
  return kind == ActivityKind::start_up || kind == ActivityKind::parse || kind == ActivityKind::trace ||
         kind == ActivityKind::compile || kind == ActivityKind::generate || kind == ActivityKind::load;
}

class Verdicts {
 public:
  explicit Verdicts(const ProfileView& view) : view_(view) {
    whole_ = static_cast<double>(view.profile.end_ticks() - view.profile.begin_ticks());
    for (const ProfileRow& row : view.profile.rows()) {
      const Activity& of = activity(row);
      by_kind_[static_cast<size_t>(of.kind)] += row.share_ticks;
      if (is_once(of.kind)) once_ += row.share_ticks;
      if (of.kind != ActivityKind::kernel) continue;
      kernels_ += row.calls;
      if (!of.plan.empty()) continue;
      const bool is_told = view.timeline.is_interpreted(view.timeline.origin(row.origin).span);
      (is_told ? of_interpreted_ : of_eager_ops_) += row.calls;
    }
  }

  std::string text(bool is_above_roof) {
    say(fmt::format("{} kernel launch{}; kernels run for {:.1f} % of the time", kernels_, kernels_ == 1 ? "" : "es",
                    percent(ticks_of(ActivityKind::kernel))));
    for (const std::string& note : view_.timeline.notes()) say(note);
    if (view_.profile.is_cut()) say("the trace lacks the end of the run: it has reached its limit of events");
    add_unused();
    add_constants();
    add_balance();
    if (is_above_roof) {
      say("roof \"above\": faster than the measured peak of the device. The data stayed in a cache, fewer bytes moved "
          "than the shapes say, or the peak was measured on a busy machine (rooflines.json in the folder of `tsl "
          "cache`)");
    }
    add_waits();
    for (const std::string& verdict : rank_verdicts(view_)) say(verdict);
    return std::move(text_);
  }

 private:
  const Activity& activity(const ProfileRow& row) const { return view_.timeline[row.id]; }
  double percent(double ticks) const { return kPercent * ticks / std::max(whole_, 1.0); }
  double ticks_of(ActivityKind kind) const { return by_kind_[static_cast<size_t>(kind)]; }
  std::string duration(double ticks) const { return duration_text(view_.timeline.seconds(ticks)); }
  void say(const std::string& verdict) { text_ += "  " + verdict + "\n"; }

  /// Names what happens instead of computing, if it takes most of the time.
  void add_balance() {
    constexpr double kMost = 0.5;
    if (once_ > kMost * whole_) {
      say(
          fmt::format("dominated by what happens once: starting, parsing, tracing and compiling take {:.1f} %; "
                      "steady state takes {}",
                      percent(once_), duration(whole_ - once_)));
    }
    const double steady = std::max(whole_ - once_, 1.0);
    const double copies = ticks_of(ActivityKind::to_device) + ticks_of(ActivityKind::to_host);
    if (copies > kMost * steady)
      say(fmt::format("dominated by copies: {:.1f} % of steady state", kPercent * copies / steady));
    const double host = ticks_of(ActivityKind::interpret) + ticks_of(ActivityKind::replay) +
                        ticks_of(ActivityKind::segment) + ticks_of(ActivityKind::launch);
    if (host > kMost * steady && add_host_bound(steady)) return;
    if (host > kMost * steady && kernels_ > 0) {
      say(fmt::format(
          "launch-bound: in steady state {:.1f} % of the time no kernel runs, while the host prepares them; {}",
          kPercent * (1 - ticks_of(ActivityKind::kernel) / steady),
          2 * of_eager_ops_ > kernels_ ? "most are of single ops, which @compile or --compile would fuse"
          : 2 * (of_eager_ops_ + of_interpreted_) > kernels_
              ? "most are of single ops in functions with @compile that are interpreted"
              : "larger tensors, or more work between two host reads, would help"));
    }
  }

  /// Returns the part of the interpreter's time that launching kernels does not explain.
  double without_launches(const std::vector<HostShare>& shares) const {
    constexpr double kLongestLaunch = 20e-6;                  // seconds of a line for each kernel that it launches
    std::map<std::pair<uint32_t, uint32_t>, double> seconds;  // by source and line: of launching
    for (const ProfileRow& row : view_.profile.rows()) {
      if (activity(row).kind != ActivityKind::kernel) continue;
      for (const ProfileLine& line : lines_of(view_, row))
        seconds[{line.source, line.line}] += kLongestLaunch * static_cast<double>(row.calls);
    }
    double all = 0, others = 0;
    for (const HostShare& share : shares) {
      const CallNode& node = (*view_.calls)[share.path];
      const double took = view_.timeline.seconds(share.ticks);
      double& left = seconds[{node.source, node.line}];
      const double explained = std::min(left, took);
      left -= explained;
      all += took;
      others += took - explained;
    }
    return all > 0 ? others / all : 0;
  }

  /// Names the function that the interpreter runs most of the time, if that time is not for launching kernels.
  bool add_host_bound(double steady) {
    constexpr double kMost = 0.5;
    const std::vector<HostShare> shares = host_shares(view_);
    double ticks = 0;
    for (const HostShare& share : shares) ticks += share.ticks;
    if (ticks < kMost * steady || without_launches(shares) < kMost) return false;
    const std::vector<HostFunction> functions = host_functions(view_);
    const auto most = std::max_element(
        functions.begin(), functions.end(),
        [](const HostFunction& a, const HostFunction& b) { return a.with_builtins < b.with_builtins; });
    if (most == functions.end() || most->with_builtins == 0) return false;  // its host calls the library
    say(fmt::format(
        "host-bound at {}: in steady state {:.1f} % of the time is the interpreter's, {:.1f} % that of this "
        "function, most of it at {}",
        most->name, kPercent * ticks / steady, kPercent * most->with_builtins / steady,
        location_text(view_, {most->source, most->line, false})));
    return true;
  }

  /// Names the lines whose results are unused.
  void add_unused() {
    std::map<std::pair<std::string, std::string>, std::string> by_line;  // by specialisation and line: the ops
    for (const UnusedOp& op : view_.profile.unused()) {
      if (!op.span.valid()) continue;
      std::string& ops = by_line[{op.plan, view_.sources.location(op.span)}];
      ops += (ops.empty() ? "" : ", ") + op.name;
    }
    for (const auto& [at, ops] : by_line) {
      const auto& [plan, where] = at;
      const char* const kernels = view_.profile.is_empty(plan) ? " launches 0 kernels" : "";
      say(fmt::format("{}{}: the result of {} ({}) is unused, so it is not computed", plan, kernels, where, ops));
    }
  }

  /// Names the kernels of compiled functions that compute the same in every run.
  void add_constants() {
    std::vector<const ProfileRow*> rows;
    for (const ProfileRow& row : view_.profile.rows()) {
      const Activity& of = activity(row);
      if (of.kind == ActivityKind::kernel && !of.plan.empty() && of.facts.is_constant && row.calls > 1)
        rows.push_back(&row);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const ProfileRow* a, const ProfileRow* b) { return a->ticks > b->ticks; });
    constexpr size_t kMost = 5;
    for (size_t i = 0; i < rows.size() && i < kMost; ++i) {
      const std::string where = locations_text(view_, *rows[i]);
      say(fmt::format("{}: {}{} computes the same in each of its {} runs, which takes {} in all",
                      activity(*rows[i]).plan, activity(*rows[i]).name, where.empty() ? "" : " of " + where,
                      rows[i]->calls, duration(static_cast<double>(rows[i]->ticks))));
    }
    if (rows.size() > kMost) say(fmt::format("{} more kernels compute the same in each run", rows.size() - kMost));
  }

  /// Names the line at which the host waits longest for the device.
  void add_waits() {
    const ProfileRow* longest = nullptr;
    for (const ProfileRow& row : view_.profile.rows()) {
      const ActivityKind kind = activity(row).kind;
      if (kind != ActivityKind::wait && kind != ActivityKind::to_host) continue;
      if (!longest || row.ticks > longest->ticks) longest = &row;
    }
    constexpr double kFewest = 10;  // percent
    if (!longest || percent(static_cast<double>(longest->ticks)) < kFewest) return;
    const std::string where = locations_text(view_, *longest);
    say(fmt::format("the host waits {} for {} reads{}", duration(static_cast<double>(longest->ticks)), longest->calls,
                    where.empty() ? "" : " at " + where));
  }

  const ProfileView& view_;
  double whole_ = 0, once_ = 0;
  uint64_t kernels_ = 0, of_eager_ops_ = 0, of_interpreted_ = 0;  // launches
  std::array<double, exec::kActivityKinds> by_kind_{};
  std::string text_;
};

}  // namespace

std::string verdicts_text(const ProfileView& view, bool is_above_roof) { return Verdicts(view).text(is_above_roof); }

}  // namespace tsl::report
