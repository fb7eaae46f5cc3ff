#include "backend/cuda/driver/work_log.h"

#include <algorithm>
#include <chrono>

#include "backend/cuda/driver/device.h"
#include "base/error.h"

namespace tsl::cuda {

using exec::ActivityKind;
using exec::ActivityScope;
using exec::Timeline;

// ---- Attribution ----

namespace {

/// Attributes kernels by the numbers of their nodes. Returns whether each has the symbol of its node.
bool attribute_by_number(const GraphNodes& nodes, std::span<const GpuRecord> records, std::vector<Timeline::Id>& out) {
  for (size_t i = 0; i < records.size(); ++i) {
    const uint32_t number = node_number(records[i].node);
    if (number >= nodes.size() || nodes[number].activity == kNoActivity) return false;
    const GraphNode& node = nodes[number];
    const bool is_kernel = records[i].kind == GpuRecord::Kind::kernel;
    if (!node.symbol.empty() && (!is_kernel || *records[i].name != node.symbol)) return false;
    out[i] = node.activity;
  }
  return true;
}

/// Attributes kernels by symbol. What has no node's symbol is divided among the libraries' activities, in order.
void attribute_by_symbol(const GraphNodes& nodes, std::span<const GpuRecord> records, std::vector<Timeline::Id>& out) {
  std::map<std::string, std::vector<Timeline::Id>> by_symbol;
  std::vector<Timeline::Id> libraries;
  for (const GraphNode& node : nodes) {
    if (node.activity == kNoActivity) continue;
    std::vector<Timeline::Id>& list = node.symbol.empty() ? libraries : by_symbol[node.symbol];
    if (!node.symbol.empty() || list.empty() || list.back() != node.activity) list.push_back(node.activity);
  }
  std::vector<size_t> order(records.size()), others;
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return records[a].node < records[b].node; });
  std::map<std::string, size_t> count;
  for (const size_t i : order) {
    const auto found = records[i].name ? by_symbol.find(*records[i].name) : by_symbol.end();
    if (found == by_symbol.end()) others.push_back(i);
    else out[i] = found->second[count[found->first]++ % found->second.size()];
  }
  if (libraries.empty()) return;
  for (size_t i = 0; i < others.size(); ++i) out[others[i]] = libraries[i * libraries.size() / others.size()];
}

}  // namespace

std::vector<Timeline::Id> attribute(const WorkCall& call, std::span<const GpuRecord> records) {
  std::vector<Timeline::Id> out(records.size(), call.activity);
  if (!call.nodes || attribute_by_number(*call.nodes, records, out)) return out;
  std::fill(out.begin(), out.end(), kNoActivity);
  attribute_by_symbol(*call.nodes, records, out);
  return out;
}

// ---- Start and end ----

WorkLog::~WorkLog() { change(nullptr); }

void WorkLog::change(Timeline* timeline) {
  if (timeline_) {
    add_work(*timeline_);
    timeline_->remove_source(*this);
  }
  on_end();
  if (!timeline) return;
  timeline_ = timeline;
  timeline->add_source(*this);
  device_.set_log(this);
  start();
}

void WorkLog::on_end() {
  timeline_ = nullptr;
  device_.set_log(nullptr);
  stop();
}

void WorkLog::start() {
  if (!timeline_->is_recorded()) return;
  const ActivityScope scope(timeline_, ActivityKind::start_up);
  try {
    Cupti& cupti = Cupti::open(device_.driver().version_number());
    user_ = cupti.add_user();
    cupti_ = &cupti;
    first_call_ = 1;
    base_ = now();
  } catch (const Failure& failure) {
    timeline_->add_note(
        fmt::format("kernels are timed by CUDA events, one by one and not as graphs: {}", failure.what()));
    set_base();
  }
}

void WorkLog::stop() {
  if (cupti_) cupti_->remove_user(user_);
  cupti_ = nullptr;
  calls_.clear();
  copies_.clear();
  unknown_.clear();
  for (const Events& each : events_) free_.insert(free_.end(), {each.begin, each.end});
  events_.clear();
  if (base_event_) free_.push_back(base_event_);
  base_event_ = nullptr;
  for (CUevent event : free_) device_.driver().cuEventDestroy(event);
  free_.clear();
}

// ---- Calls ----

/// Names a call for a profiler: "k_mul_add__3fa2", "the graph of step:12#0".
std::string WorkLog::name_of_call(const WorkCall& call) const {
  if (call.activity != kNoActivity) return range_name((*timeline_)[call.activity]);
  if (!call.nodes) return "copy";
  for (const GraphNode& node : *call.nodes) {
    if (node.activity != kNoActivity) return "the graph of " + (*timeline_)[node.activity].plan;
  }
  return "a graph";
}

void WorkLog::begin(WorkCall call) {
  if (exec::RangeSink* const sink = timeline_->sink()) sink->begin(name_of_call(call));
  if (!timeline_->is_recorded()) return;
  if (cupti_ ? calls_.size() >= kMostCalls || cupti_->is_full() : calls_.size() >= kMostTimed) timeline_->flush();
  call.ticks = exec::now_in_ticks();
  call.origin = timeline_->origin();
  calls_.push_back(std::move(call));
  if (cupti_) cupti_->push(Cupti::call_number(user_, first_call_ + calls_.size() - 1));
  else events_.push_back({record_event(), nullptr});
  is_open_ = true;
}

/// CUPTI reports the bytes of each part of a copy.
void WorkLog::begin_copy(GpuRecord::Kind kind, uint64_t bytes) {
  begin({.activity = cupti_ ? kNoActivity : copy_activity(kind, bytes)});
}

void WorkLog::end() {
  if (exec::RangeSink* const sink = timeline_->sink()) sink->end();
  if (!timeline_->is_recorded()) return;
  is_open_ = false;
  if (cupti_) cupti_->pop();
  else events_.back().end = record_event();
}

// Errors are ignored: the device's next call reports them.
CUevent WorkLog::record_event() {
  CUevent event = nullptr;
  if (free_.empty()) {
    device_.driver().cuEventCreate(&event, CU_EVENT_DEFAULT);
  } else {
    event = free_.back();
    free_.pop_back();
  }
  device_.driver().cuEventRecord(event, device_.stream());
  return event;
}

// ---- Work ----

WorkLog::Moment WorkLog::now() const {
  using namespace std::chrono;
  constexpr int kTries = 5;
  Moment best;
  uint64_t shortest = ~uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = exec::now_in_ticks();
    const uint64_t time =
        cupti_ ? cupti_->now()
               : static_cast<uint64_t>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
    const uint64_t took = exec::now_in_ticks() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, time};
  }
  return best;
}

/// Sets the event, and the moment at which it happened, from which other events are measured. A float of milliseconds
/// is exact enough for a while only.
void WorkLog::set_base() {
  if (base_event_) free_.push_back(base_event_);
  base_event_ = record_event();
  device_.driver().cuEventSynchronize(base_event_);
  base_ = now();
}

uint64_t WorkLog::ticks_at(uint64_t nanoseconds, const Moment& last) const {
  const double rate = static_cast<double>(last.ticks - base_.ticks) /
                      static_cast<double>(std::max<uint64_t>(last.nanoseconds - base_.nanoseconds, 1));
  const double since = static_cast<double>(static_cast<int64_t>(nanoseconds - base_.nanoseconds));
  return base_.ticks + static_cast<uint64_t>(static_cast<int64_t>(since * rate));
}

void WorkLog::add_work(Timeline& timeline) {
  if (!timeline.is_recorded()) return;
  {
    const ActivityScope wait(&timeline, ActivityKind::wait);
    device_.driver().cuStreamSynchronize(device_.stream());  // the device's next call reports an error
  }
  CUcontext before = nullptr;  // perhaps another GPU's
  device_.driver().cuCtxGetCurrent(&before);
  device_.driver().cuCtxSetCurrent(device_.context());
  if (cupti_) add_reported();
  else add_timed();
  device_.driver().cuCtxSetCurrent(before);
  calls_.erase(calls_.begin(), calls_.end() - (is_open_ ? 1 : 0));
}

/// Adds work that began after its call and has ended by now. The clocks differ by a microsecond or so.
void WorkLog::add(const WorkCall& call, Timeline::Id activity, uint64_t begin, uint64_t end) {
  if (begin < call.ticks) {
    end += call.ticks - begin;
    begin = call.ticks;
  }
  end = std::max(std::min(end, exec::now_in_ticks()), begin + 1);  // no work takes no time
  timeline_->add_work({begin, end, activity, call.origin, call.ticks});
}

void WorkLog::add_reported() {
  std::vector<GpuRecord> records = cupti_->take(user_, device_.context());
  const Moment last = now();
  std::stable_sort(records.begin(), records.end(),
                   [](const GpuRecord& a, const GpuRecord& b) { return a.call < b.call; });
  for (size_t begin = 0, end = 0; begin < records.size(); begin = end) {
    while (end < records.size() && records[end].call == records[begin].call) ++end;
    const uint64_t index = records[begin].call - Cupti::call_number(user_, first_call_);
    WorkCall call{.ticks = base_.ticks};
    if (records[begin].call != 0 && index < calls_.size()) call = calls_[index];
    const std::span<const GpuRecord> work(&records[begin], end - begin);
    add_call(call, work, last);
  }
  base_ = last;
  first_call_ += calls_.size() - (is_open_ ? 1 : 0);
  if (const uint64_t dropped = cupti_->take_dropped(); dropped > 0)
    timeline_->add_note(fmt::format("CUPTI lost {} records: as many kernels or copies are missing", dropped));
}

/// Adds the work of one call. What a library did for one launch counts as one kernel.
void WorkLog::add_call(const WorkCall& call, std::span<const GpuRecord> records, const Moment& last) {
  struct Joined {
    uint64_t begin, end;
    std::string names;
  };
  std::map<Timeline::Id, Joined> joined;
  const std::vector<Timeline::Id> activities = attribute(call, records);
  for (size_t i = 0; i < records.size(); ++i) {
    const GpuRecord& record = records[i];
    if (activities[i] == kNoActivity) {
      add(call, activity_of(record), ticks_at(record.begin, last), ticks_at(record.end, last));
      continue;
    }
    const auto [at, is_new] = joined.try_emplace(activities[i], Joined{record.begin, record.end, ""});
    at->second.begin = std::min(at->second.begin, record.begin);
    at->second.end = std::max(at->second.end, record.end);
    if (is_unnamed(activities[i]) && record.name)
      at->second.names += (at->second.names.empty() ? "" : " + ") + *record.name;
  }
  for (const auto& [id, work] : joined) {
    add(call, id, ticks_at(work.begin, last), ticks_at(work.end, last));
    if (!work.names.empty()) timeline_->set_kernel_name(id, work.names);
  }
}

/// Whether the activity is a library's, whose kernels have not been reported yet.
bool WorkLog::is_unnamed(Timeline::Id id) const {
  const exec::Activity& activity = (*timeline_)[id];
  return activity.kernel.threads == 0 && activity.kernel.name == activity.name;
}

void WorkLog::add_timed() {
  const Moment last = now();
  const size_t count = events_.size() - (is_open_ ? 1 : 0);
  for (size_t i = 0; i < count; ++i) {
    float begin = 0, took = 0;  // milliseconds
    device_.driver().cuEventElapsedTime(&begin, base_event_, events_[i].begin);
    device_.driver().cuEventElapsedTime(&took, events_[i].begin, events_[i].end);
    constexpr double kMillisecond = 1e6;  // in nanoseconds
    const uint64_t at = base_.nanoseconds + static_cast<uint64_t>(std::max(begin, 0.0f) * kMillisecond);
    add(calls_[i], calls_[i].activity, ticks_at(at, last),
        ticks_at(at + static_cast<uint64_t>(took * kMillisecond), last));
  }
  for (size_t i = 0; i < count; ++i) free_.insert(free_.end(), {events_[i].begin, events_[i].end});
  events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(count));
  set_base();
}

// ---- Activities ----

Timeline::Id WorkLog::activity_of(const GpuRecord& record) {
  if (record.kind != GpuRecord::Kind::kernel) return copy_activity(record.kind, record.bytes);
  const auto [at, is_new] = unknown_.try_emplace(*record.name, kNoActivity);
  if (is_new) {
    exec::Activity activity;
    activity.kind = ActivityKind::kernel;
    activity.name = activity.kernel.name = *record.name;
    activity.device = name_of(device_);
    activity.facts.category = Category::library;
    at->second = timeline_->add(std::move(activity));
  }
  return at->second;
}

Timeline::Id WorkLog::copy_activity(GpuRecord::Kind kind, uint64_t bytes) {
  const auto [at, is_new] = copies_.try_emplace({kind, bytes}, kNoActivity);
  if (!is_new) return at->second;
  exec::Activity activity;
  activity.device = name_of(device_);
  activity.facts.category = Category::copy;
  activity.facts.bytes = bytes;
  switch (kind) {
    case GpuRecord::Kind::to_device: activity.kind = ActivityKind::to_device; break;
    case GpuRecord::Kind::to_host: activity.kind = ActivityKind::to_host; break;
    case GpuRecord::Kind::on_device:
      activity.kind = ActivityKind::kernel;
      activity.name = "copy on the device";
      activity.facts.bytes = 2 * bytes;  // read and written
      break;
    case GpuRecord::Kind::fill:
    case GpuRecord::Kind::kernel:
      activity.kind = ActivityKind::kernel;
      activity.name = "fill";
      break;
  }
  activity.facts.name = activity.kernel.name = activity.name;
  return at->second = timeline_->add(std::move(activity));
}

}  // namespace tsl::cuda
