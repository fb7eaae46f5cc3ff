#include "report/profile_trace.h"

#include <algorithm>
#include <ostream>

#include <nlohmann/json.hpp>

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;
using exec::Timeline;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kHost = 0;  // the number of the host's track; devices follow

class TraceWriter {
 public:
  TraceWriter(const ProfileView& view, std::ostream& out) : view_(view), timeline_(view.timeline), out_(out) {}

  void write() {
    out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
    name_track(kHost, "host");
    write_host();
    write_devices();
    write_memory();
    if (view_.profile.is_cut()) {
      put({{"ph", "i"},
           {"name", "the trace is cut here: it has reached its limit"},
           {"s", "g"},
           {"pid", kHost},
           {"tid", kHost},
           {"ts", last_}});
    }
    out_ << "\n]}\n";
  }

 private:
  void put(const Json& event) {
    if (!std::exchange(is_first_, false)) out_ << ",\n";
    out_ << event.dump();
  }

  void name_track(int track, const std::string& name) {
    for (const char* const about : {"process_name", "thread_name"})
      put({{"ph", "M"}, {"name", about}, {"pid", track}, {"tid", track}, {"args", {{"name", name}}}});
  }

  /// Microseconds since the timeline began.
  double time(uint64_t ticks) {
    constexpr double kMicro = 1e6;
    const double at = kMicro * timeline_.seconds(static_cast<double>(ticks - timeline_.begin_ticks()));
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
      args["category"] = graph::name_of(activity.facts.category);
      args["types"] = activity.facts.types;
      args["bytes"] = activity.facts.bytes;
      args["flops"] = activity.facts.flops;
      if (!activity.plan.empty()) args["specialisation"] = activity.plan;
      if (activity.kernel.blocks > 0) args["grid"] = activity.kernel.blocks;
      if (activity.kernel.threads > 0) args["block"] = activity.kernel.threads;
    }
    put({{"ph", "X"},
         {"name", text_of(activity)},
         {"pid", track},
         {"tid", track},
         {"ts", time(begin)},
         {"dur", time(end) - time(begin)},
         {"args", std::move(args)}});
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
      ++flow;
      put({{"ph", "s"},
           {"name", "launch"},
           {"cat", "launch"},
           {"id", flow},
           {"pid", kHost},
           {"tid", kHost},
           {"ts", time(work.launched)}});
      put({{"ph", "f"},
           {"bp", "e"},
           {"name", "launch"},
           {"cat", "launch"},
           {"id", flow},
           {"pid", track},
           {"tid", track},
           {"ts", time(work.begin)}});
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

  const ProfileView& view_;
  const Timeline& timeline_;
  std::ostream& out_;
  std::vector<Device> devices_;
  bool is_first_ = true;
  double last_ = 0;
};

}  // namespace

void write_trace(const ProfileView& view, std::ostream& out) { TraceWriter(view, out).write(); }

}  // namespace tsl::report
