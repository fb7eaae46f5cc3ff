// Writes a profile as a trace for Chrome and Perfetto.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "profile/profile_ranges.h"
#include "profile/profile_table.h"
#include "profile/timings.h"

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;
using exec::Timeline;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kHost = 0;       // the number of the host's track; devices follow
constexpr int kRanges = 100;   // added to a track: that of its ranges
constexpr int kOfRank = 1000;  // tracks of a rank
constexpr std::string_view kBegin = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", kEnd = "\n]}\n";

class TraceWriter {
 public:
  TraceWriter(const ProfileView& view, const TracePlace& place, std::ostream& out)
      : view_(view), timeline_(view.timeline), place_(place), out_(out) {}

  void write() {
    name_track(kHost, "host");
    write_host();
    write_phases();
    write_devices();
    write_backward_flows();
    write_ranges();
    write_memory();
    if (view_.profile.is_cut()) {
      put({{"ph", "i"},
           {"name", "the trace is cut here: it has reached its limit"},
           {"s", "g"},
           {"pid", kHost},
           {"tid", kHost},
           {"ts", last_}});
    }
  }

 private:
  void put(Json event) {
    if (!std::exchange(is_first_, false)) out_ << ",\n";
    if (place_.rank > 0) {  // the numbers of each rank are its own
      event["pid"] = event["pid"].get<int>() + kOfRank * place_.rank;
      if (event.contains("id")) event["id"] = fmt::format("{}-{}", place_.rank, event["id"].get<uint64_t>());
    }
    out_ << event.dump();
  }

  void name_track(int track, const std::string& name) {
    for (const char* const about : {"process_name", "thread_name"})
      put({{"ph", "M"}, {"name", about}, {"pid", track}, {"tid", track}, {"args", {{"name", rank_text() + name}}}});
  }

  std::string rank_text() const { return place_.rank < 0 ? "" : fmt::format("rank {}: ", place_.rank); }

  /// Microseconds since the trace began.
  double time(uint64_t ticks) {
    constexpr double kMicro = 1e6;
    const double at = kMicro * (place_.begin + timeline_.seconds(static_cast<double>(ticks - timeline_.begin_ticks())));
    last_ = std::max(last_, at);
    return at;
  }

  /// Returns the kernel's lines: "train.tsl:8 train.tsl:9".
  std::string lines_of(const Activity& activity, uint32_t origin) const {
    std::string lines;
    const auto add = [&](const Origin& of) {
      if (!of.span.valid()) return;
      const std::string line = view_.sources.location(of.span);
      if (lines.find(line) == std::string::npos) lines += (lines.empty() ? "" : " ") + line;
    };
    for (const graph::KernelFacts::SourceOp& op : activity.facts.ops) add(op.origin);
    if (lines.empty()) add(timeline_.origin(origin));
    if (lines.empty()) add(activity.span);
    return lines;
  }

  void put_slice(Timeline::Id id, uint32_t origin, uint64_t begin, uint64_t end, int track) {
    const Activity& activity = timeline_[id];
    Json args = Json::object();
    if (const std::string lines = lines_of(activity, origin); !lines.empty()) args["lines"] = lines;
    if (activity.kind == ActivityKind::kernel) {
      args["category"] = name_of(category_of(timeline_, id, origin));
      args["pass"] = is_backward(activity, origin) ? "backward" : "forward";
      args["types"] = activity.facts.types;
      args["bytes"] = activity.facts.bytes;
      args["flops"] = activity.facts.flops;
      if (!activity.plan.empty()) args["specialisation"] = activity.plan;
      if (const std::vector<std::string> paths = paths_of(activity, origin); !paths.empty())
        args["range"] = paths.back();
      if (activity.kernel.blocks > 0) args["grid"] = activity.kernel.blocks;
      if (activity.kernel.threads > 0) args["block"] = activity.kernel.threads;
    }
    if (activity.kind == ActivityKind::pass && activity.facts.bytes > 0) args["bytes"] = activity.facts.bytes;
    if (activity.kind == ActivityKind::kernel) kernels_.push_back({begin, end, id, origin, track});
    put({{"ph", "X"},
         {"name", text_of(activity)},
         {"cat", activity.kind != ActivityKind::kernel ? name_of(activity.kind)
                 : is_backward(activity, origin)       ? "kernels,backward"
                                                       : "kernels"},
         {"pid", track},
         {"tid", track},
         {"ts", time(begin)},
         {"dur", time(end) - time(begin)},
         {"args", std::move(args)}});
  }

  /// Returns the places of a kernel's ops; for an eager op, that of the call.
  std::vector<Origin> origins_of(const Activity& kernel, uint32_t origin) const {
    std::vector<Origin> origins;
    for (const graph::KernelFacts::SourceOp& op : kernel.facts.ops) {
      if (op.origin.span.valid()) origins.push_back(op.origin);
    }
    if (origins.empty() && timeline_.origin(origin).span.valid()) origins.push_back(timeline_.origin(origin));
    return origins;
  }

  /// Whether most ops of a kernel are part of a backward pass.
  bool is_backward(const Activity& kernel, uint32_t origin) const {
    const std::vector<Origin> origins = origins_of(kernel, origin);
    const auto backward =
        std::count_if(origins.begin(), origins.end(), [](const Origin& each) { return each.is_backward; });
    return 2 * static_cast<size_t>(backward) > origins.size();
  }

  void put_flow(uint64_t number, const char* name, std::pair<int, uint64_t> from, std::pair<int, uint64_t> to) {
    const auto end = [&](const char* phase, const std::pair<int, uint64_t>& at) {
      Json event{{"ph", phase},     {"name", name},    {"cat", name},          {"id", number},
                 {"pid", at.first}, {"tid", at.first}, {"ts", time(at.second)}};
      if (phase[0] == 'f') event["bp"] = "e";
      put(event);
    };
    end("s", from);
    end("f", to);
  }

  /// Writes the phases of compilations, which lie within "compiling graphs".
  void write_phases() {
    if (!view_.timings) return;
    for (const Timings::Event& event : view_.timings->events()) {
      put({{"ph", "X"},
           {"name", phase_name(event.phase)},
           {"cat", "phases of compiling"},
           {"pid", kHost},
           {"tid", kHost},
           {"ts", time(event.begin)},
           {"dur", time(event.end) - time(event.begin)},
           {"args", Json::object()}});
    }
  }

  /// Writes an arrow to each backward kernel from the last kernels before it that computed what it differentiates.
  void write_backward_flows() {
    std::stable_sort(kernels_.begin(), kernels_.end(),
                     [](const KernelSlice& a, const KernelSlice& b) { return a.begin < b.begin; });
    using Position = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Position, const KernelSlice*> forward;  // the last one
    uint64_t number = 0;
    for (const KernelSlice& kernel : kernels_) {
      const std::vector<Origin> origins = origins_of(timeline_[kernel.id], kernel.origin);
      const auto position_of = [](const Origin& at) { return Position{at.span.source, at.span.begin, at.span.end}; };
      std::set<const KernelSlice*> from;
      for (const Origin& origin : origins) {
        const auto at = forward.find(position_of(origin));
        if (origin.is_backward && at != forward.end()) from.insert(at->second);
      }
      for (const Origin& origin : origins) {
        if (!origin.is_backward) forward[position_of(origin)] = &kernel;
      }
      for (const KernelSlice* each : from)
        put_flow(++number, "backward", {each->track, each->begin}, {kernel.track, kernel.begin});
    }
  }

  /// Returns the paths of the ranges around a kernel's first op, the outermost first.
  std::vector<std::string> paths_of(const Activity& kernel, uint32_t origin) const {
    const uint32_t inner = kernel.facts.ops.empty() ? 0 : kernel.facts.ops[0].origin.range;
    return paths_around(view_.sources.ranges(), timeline_.origin(origin).range, inner);
  }

  /// Writes the ranges of each device as a track: a range lasts from its first kernel to its last one
  /// in a row. The kernels are in order.
  void write_ranges() {
    struct Open {
      std::string path;
      uint64_t begin, end;
    };
    std::map<int, std::vector<Open>> open;  // by track, the outermost first
    const auto close = [&](int track, size_t keep) {
      std::vector<Open>& of = open[track];
      for (; of.size() > keep; of.pop_back()) {
        const size_t outer = of.size() > 1 ? of[of.size() - 2].path.size() + 1 : 0;
        put({{"ph", "X"},
             {"name", of.back().path.substr(outer)},
             {"cat", "ranges"},
             {"pid", kRanges + track},
             {"tid", kRanges + track},
             {"ts", time(of.back().begin)},
             {"dur", time(of.back().end) - time(of.back().begin)},
             {"args", {{"path", of.back().path}}}});
      }
    };
    for (const KernelSlice& kernel : kernels_) {
      const std::vector<std::string> paths = paths_of(timeline_[kernel.id], kernel.origin);
      std::vector<Open>& of = open[kernel.track];
      size_t same = 0;
      while (same < std::min(of.size(), paths.size()) && of[same].path == paths[same]) ++same;
      close(kernel.track, same);
      for (size_t i = same; i < paths.size(); ++i) of.push_back({paths[i], kernel.begin, kernel.end});
      for (Open& each : of) each.end = std::max(each.end, kernel.end);
    }
    for (const auto& [track, of] : open) {
      const std::string device =
          track == kHost ? "the host" : to_string(devices_[static_cast<size_t>(track - kHost - 1)]);
      if (!of.empty()) name_track(kRanges + track, "ranges of " + device);
    }
    for (auto& [track, of] : open) close(track, 0);
  }

  void write_host() {
    std::vector<Timeline::Mark> open;
    uint64_t last = timeline_.begin_ticks();
    for (const Timeline::Mark& mark : view_.profile.kept_marks()) {
      last = mark.ticks;
      if (mark.id != Timeline::kEnd) {
        open.push_back(mark);
      } else if (!open.empty()) {
        const Timeline::Mark begin = open.back();
        open.pop_back();
        put_slice(begin.id, begin.origin, begin.ticks, mark.ticks, kHost);
      }
    }
    for (const Timeline::Mark& begin : open) put_slice(begin.id, begin.origin, begin.ticks, last, kHost);
  }

  int track_of(Device device) {
    const auto at = std::find(devices_.begin(), devices_.end(), device);
    const int track = kHost + 1 + static_cast<int>(at - devices_.begin());
    if (at == devices_.end()) {
      devices_.push_back(device);
      name_track(track, to_string(device));
    }
    return track;
  }

  void write_devices() {
    uint64_t flow = 0;
    for (const Timeline::DeviceWork& work : view_.profile.kept_work()) {
      const int track = track_of(timeline_[work.id].device);
      put_slice(work.id, work.origin, work.begin, work.end, track);
      if (work.launched == 0) continue;
      put_flow(++flow, "launch", {kHost, work.launched}, {track, work.begin});
    }
  }

  void put_memory(Device device, uint64_t ticks, uint64_t bytes) {
    put({{"ph", "C"},
         {"name", "memory of " + to_string(device)},
         {"pid", kHost},
         {"ts", time(std::max(ticks, timeline_.begin_ticks()))},
         {"args", {{"bytes", bytes}}}});
  }

  /// Writes the memory in use by tensors as a counter of each device.
  void write_memory() {
    if (!view_.memory) return;
    for (const auto& memory : view_.memory->devices()) {
      for (const MemorySamples::Sample& sample : memory->samples().all()) {
        put_memory(memory->device(), sample.most_at, sample.most);
        if (sample.last_at != sample.most_at) put_memory(memory->device(), sample.last_at, sample.last);
      }
    }
  }

  struct KernelSlice {
    uint64_t begin, end;
    Timeline::Id id;
    uint32_t origin;
    int track;
  };

  const ProfileView& view_;
  const Timeline& timeline_;
  const TracePlace place_;
  std::ostream& out_;
  std::vector<KernelSlice> kernels_;  // that were written
  std::vector<Device> devices_;
  bool is_first_ = true;
  double last_ = 0;
};

}  // namespace

void write_trace(const ProfileView& view, std::ostream& out) {
  out << kBegin;
  write_trace_events(view, {}, out);
  out << kEnd;
}

void write_trace_events(const ProfileView& view, const TracePlace& place, std::ostream& out) {
  TraceWriter(view, place, out).write();
}

std::string joined_traces(std::span<const std::string> events) {
  return fmt::format("{}{}{}", kBegin, fmt::join(events, ",\n"), kEnd);
}

}  // namespace tsl::report
