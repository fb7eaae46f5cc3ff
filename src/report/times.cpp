#include "report/times.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "profile/host_time.h"

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;
using exec::Timeline;

namespace {

/// A kernel of a specialisation: its plan, symbol and launch.
using KernelKey = std::tuple<std::string, std::string, uint32_t>;

double seconds(const ProfileView& view, uint64_t ticks) { return view.timeline.seconds(static_cast<double>(ticks)); }

double whole_ticks(const ProfileView& view) {
  return std::max(static_cast<double>(view.profile.end_ticks() - view.profile.begin_ticks()), 1.0);
}

/// The predicted seconds of launches, by specialisation.
using LaunchSeconds = std::map<std::pair<std::string, uint32_t>, double>;

/// Sets what was predicted for the launches of a specialisation, if its kernels were measured.
void add_predictions(SpecialisationRecord& specialisation, const LaunchSeconds& predicted) {
  std::map<uint32_t, Prediction> launches;
  for (const KernelRecord& kernel : specialisation.kernels) {
    const auto at = predicted.find({specialisation.name, kernel.launch});
    if (at == predicted.end()) continue;
    const auto [launch, is_new] = launches.try_emplace(kernel.launch, Prediction{.seconds = at->second, .kernels = 0});
    ++launch->second.kernels;
    launch->second.calls = kernel.times.calls;
    launch->second.measured += kernel.times.least_seconds;
  }
  for (KernelRecord& kernel : specialisation.kernels) {
    if (const auto at = launches.find(kernel.launch); at != launches.end()) kernel.prediction = at->second;
  }
}

/// Predicts the seconds of the launches that have run.
LaunchSeconds predict_launches(const ProfileView& view) {
  LaunchSeconds all;
  if (!view.roofline) return all;
  for (const ProfileRow& row : view.profile.rows()) {
    const Activity& of = view.timeline[row.id];
    if (of.kind != ActivityKind::kernel || of.plan.empty() || row.calls == 0) continue;
    double& seconds = all[{of.plan, of.kernel.launch}];
    seconds = std::max(seconds, predicted_seconds(view.roofline(of.device), of.facts, of.kernel));
  }
  return all;
}

/// Adds the calls of a row to those of its kernel.
void add(const ProfileView& view, const ProfileRow& row, KernelTimes& times) {
  const double least = seconds(view, row.least_ticks);
  if (times.calls == 0) times.first_seconds = seconds(view, row.first_ticks);
  times.least_seconds = times.calls == 0 ? least : std::min(times.least_seconds, least);
  times.calls += row.calls;
  times.seconds += seconds(view, row.ticks);
  times.share += row.share_ticks / whole_ticks(view);
}

std::map<KernelKey, KernelTimes> kernel_times(const ProfileView& view) {
  std::map<KernelKey, KernelTimes> all;
  for (const ProfileRow& row : view.profile.rows()) {
    const Activity& activity = view.timeline[row.id];
    if (activity.kind != ActivityKind::kernel || activity.plan.empty() || row.calls == 0) continue;
    add(view, row, all[{activity.plan, activity.name, activity.kernel.launch}]);
  }
  return all;
}

/// Returns the kernels of ops outside regions, the one that took most time first.
std::vector<KernelRecord> eager_kernels(const ProfileView& view) {
  std::map<std::pair<std::string, std::string>, KernelRecord> all;  // by name and types
  for (const ProfileRow& row : view.profile.rows()) {
    const Activity& activity = view.timeline[row.id];
    if (activity.kind != ActivityKind::kernel || !activity.plan.empty() || row.calls == 0) continue;
    KernelRecord& kernel = all[{activity.name, activity.facts.types}];
    kernel.symbol = activity.name;
    kernel.name = activity.facts.name;
    kernel.category = name_of(activity.facts.category);
    kernel.types = activity.facts.types;
    kernel.bytes = activity.facts.bytes;
    kernel.flops = activity.facts.flops;
    add(view, row, kernel.times);
    for (const ProfileLine& line : lines_of(view, row)) {
      const Source& source = view.sources.get(line.source);
      const OpRecord op{
          activity.facts.name, {source.name(), line.line, std::string(source.line(line.line))}, line.is_backward};
      if (std::find(kernel.ops.begin(), kernel.ops.end(), op) == kernel.ops.end()) kernel.ops.push_back(op);
    }
  }
  std::vector<KernelRecord> sorted;
  for (auto& [_, kernel] : all) sorted.push_back(std::move(kernel));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const KernelRecord& a, const KernelRecord& b) { return a.times.share > b.times.share; });
  return sorted;
}

std::map<std::string, RegionTimes> region_times(const ProfileView& view) {
  std::map<std::string, RegionTimes> all;
  for (const ProfileScope& scope : view.profile.scopes()) {
    if (view.timeline[scope.id].kind != ActivityKind::replay || scope.calls == 0) continue;
    RegionTimes& times = all[view.timeline[scope.id].name];
    times.calls = scope.calls;
    times.first_seconds = seconds(view, scope.first_ticks);
    times.seconds = seconds(view, scope.first_ticks + scope.later_ticks);
    times.share = static_cast<double>(scope.first_ticks + scope.later_ticks) / whole_ticks(view);
    times.median_seconds = seconds(view, scope.sample.median());
  }
  return all;
}

/// Writes events as [name, begin, duration, depth], with times in nanoseconds and numbers of names, which are short.
class TimelineWriter {
 public:
  explicit TimelineWriter(const ProfileView& view) : view_(view), timeline_(view.timeline) {}

  std::string write() {
    Json host = Json::array();
    std::map<std::string, Json> devices;  // by name
    std::vector<Timeline::Mark> open;
    for (const Timeline::Mark& mark : first(view_.profile.kept_marks())) {
      if (mark.id != Timeline::kEnd) {
        open.push_back(mark);
      } else if (!open.empty()) {
        const Timeline::Mark begin = open.back();
        open.pop_back();
        const Activity& activity = timeline_[begin.id];
        const Json event = event_of(begin.id, begin.ticks, mark.ticks, open.size());
        if (activity.kind == ActivityKind::kernel) devices[to_string(activity.device)].push_back(event);
        else host.push_back(event);
      }
    }
    for (const Timeline::DeviceWork& work : first(view_.profile.kept_work()))
      devices[to_string(timeline_[work.id].device)].push_back(event_of(work.id, work.begin, work.end, 0));
    Json out{{"seconds", seconds(view_, view_.profile.end_ticks() - view_.profile.begin_ticks())},
             {"is_cut", is_cut_ || view_.profile.is_cut()},
             {"names", std::move(names_)},
             {"calls", calls()},
             {"tracks", Json::array()}};
    out["tracks"].push_back({{"name", "host"}, {"events", std::move(host)}});
    for (auto& [device, events] : devices) out["tracks"].push_back({{"name", device}, {"events", std::move(events)}});
    return out.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  using Json = nlohmann::ordered_json;

  /// Returns each call path as [path of the caller, text, seconds of its own]; the first one is that of no call.
  Json calls() const {
    Json all = Json::array();
    if (!view_.calls) return all;
    std::map<uint32_t, double> own;
    for (const HostShare& share : host_shares(view_)) own[share.path] += timeline_.seconds(share.ticks);
    for (uint32_t path = 0; path < view_.calls->size() && !own.empty(); ++path) {
      const CallNode& node = (*view_.calls)[path];
      all.push_back({node.caller, path == 0 ? "interpreting" : frame_text(view_, node), own[path]});
    }
    return all;
  }

  template <class Event> std::span<const Event> first(const std::vector<Event>& events) {
    is_cut_ |= events.size() > kTimelineEvents;
    return std::span(events).first(std::min(events.size(), kTimelineEvents));
  }

  Json event_of(Timeline::Id id, uint64_t begin, uint64_t end, size_t depth) {
    const auto nanoseconds = [&](uint64_t ticks) {
      const uint64_t first = view_.profile.begin_ticks();
      constexpr double kNano = 1e9;
      return static_cast<int64_t>(kNano * seconds(view_, ticks - std::min(ticks, first)));
    };
    const int64_t at = nanoseconds(begin);
    return Json::array({number_of(id), at, std::max<int64_t>(nanoseconds(end) - at, 0), depth});
  }

  size_t number_of(Timeline::Id id) {
    const auto [at, is_new] = numbers_.try_emplace(id, names_.size());
    if (is_new) {
      const Activity& activity = timeline_[id];
      Json name{{"text", text_of(activity)}};
      if (activity.kind == ActivityKind::kernel && !activity.plan.empty()) {
        name["specialisation"] = activity.plan;
        name["launch"] = activity.kernel.launch;  // a kernel may be launched twice
      }
      names_.push_back(std::move(name));
    }
    return at->second;
  }

  const ProfileView& view_;
  const Timeline& timeline_;
  bool is_cut_ = false;
  std::map<Timeline::Id, size_t> numbers_;  // of names_
  Json names_ = Json::array();
};

}  // namespace

void add_times(Recording& recording, const ProfileView& view) {
  const std::map<KernelKey, KernelTimes> kernels = kernel_times(view);
  const std::map<std::string, RegionTimes> regions = region_times(view);
  const LaunchSeconds predicted = predict_launches(view);
  recording.eager_kernels = eager_kernels(view);
  for (RegionRecord& region : recording.regions) {
    if (const auto at = regions.find(region.name); at != regions.end()) region.times = at->second;
    for (SpecialisationRecord& specialisation : region.specialisations) {
      for (KernelRecord& kernel : specialisation.kernels) {
        const auto at = kernels.find({specialisation.name, kernel.symbol, kernel.launch});
        if (at != kernels.end()) kernel.times = at->second;
      }
      add_predictions(specialisation, predicted);
    }
  }
}

std::string timeline_json(const ProfileView& view) { return TimelineWriter(view).write(); }

}  // namespace tsl::report
