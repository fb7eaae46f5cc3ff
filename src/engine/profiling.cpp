#include "engine/profiling.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

#include <fmt/format.h>

#include "base/error_names.h"
#include "engine/engine.h"
#include "engine/roofline.h"
#include "profile/host_time.h"
#include "report/dump.h"
#include "report/times.h"
#include "value/context.h"
#include "world/clocks.h"
#include "world/group.h"

namespace tsl {

namespace {

// So that the phases of compilations are a small part of a trace.
constexpr size_t kEventsPerPhase = 10;

/// Returns the texts of all ranks on rank 0, and none on the others.
std::vector<std::string> gathered_texts(world::Group& group, std::string own) {
  const std::vector<std::string> sizes = group.share(std::to_string(own.size()));
  const bool is_first = group.rank() == 0;
  std::vector<std::string> texts(is_first ? sizes.size() : 0);
  std::vector<world::Piece> sent, received;
  if (!is_first) sent.push_back({0, reinterpret_cast<std::byte*>(own.data()), own.size()});
  for (size_t i = 1; i < texts.size(); ++i) {
    texts[i].resize(std::stoull(sizes[i]));
    received.push_back({static_cast<int>(i), reinterpret_cast<std::byte*>(texts[i].data()), texts[i].size()});
  }
  group.exchange(sent, received);
  if (is_first) texts[0] = std::move(own);
  return texts;
}

}  // namespace

Profiling::Profiling(Context& context, Interpreter& interpreter, exec::Devices& devices, report::MemoryLedger& memory,
                     exec::RangeSink* ranges, const EngineOptions& options, size_t trace_events)
    : context_(context),
      devices_(devices),
      memory_(memory),
      options_(options),
      peaks_before_(memory.begin_peaks()),
      profile_(trace_events),
      timings_(trace_events / kEventsPerPhase),
      timeline_(profile_, ranges),
      before_(devices.instruments()),
      sampler_(interpreter, context.watch, context.sources(), timeline_) {
  devices_.instruments().timeline = &timeline_;
  devices_.instruments().observers.push_back(&profile_);
  devices_.instruments().observers.push_back(&timings_);
}

Profiling::~Profiling() {
  try {
    timeline_.flush();
  } catch (const std::bad_alloc&) {  // nobody reads it any more
  }
  devices_.instruments() = before_;
  memory_.end_peaks(peaks_before_);
}

report::ProfileView Profiling::view(const std::string& title, bool color) {
  timeline_.flush();
  memory_.look();
  return {timeline_, profile_, context_.sources(), title, rooflines(), color, &memory_,
          &timings_, {},       &sampler_.calls(),  ranks_};
}

std::function<report::Roofline(Device)> Profiling::rooflines() {
  return [this](Device device) {
    const auto [at, is_new] = rooflines_.try_emplace(to_string(device));
    if (!is_new) return at->second;
    RooflineStore store(devices_.at(device), device, options_);
    store.check([&](const report::Roofline& roofline) { return exceeds(device, roofline); });
    return at->second = store.roofline();
  };
}

/// Whether a kernel of a device is faster than a roofline, without a reason that is known.
bool Profiling::exceeds(Device device, const report::Roofline& roofline) const {
  const std::vector<report::ProfileRow>& rows = profile_.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const report::ProfileRow& row) {
    const exec::Activity& of = timeline_[row.id];
    if (of.kind != exec::ActivityKind::kernel || !(of.device == device) || row.calls == 0) return false;
    const double seconds = timeline_.seconds(static_cast<double>(row.sample.median()));
    return report::roof_share(roofline, of.facts, seconds).kind == report::RoofShare::Kind::above;
  });
}

std::string Profiling::text(const std::string& title, bool color, const report::TableOptions& table) {
  report::ProfileView shown = view(title, color);
  shown.table = table;
  return report::profile_text(shown);
}

std::string Profiling::json(const std::string& title) { return report::profile_json(view(title, false)); }

std::string Profiling::timings_text(const std::string& title) {
  return report::timings_text(view(title, false), timings_);
}

void Profiling::add_times(report::Recording& recording) {
  timeline_.flush();
  report::add_times(recording, {timeline_, profile_, context_.sources(), "", rooflines(), false, nullptr});
}

std::string Profiling::timeline_json() {
  timeline_.flush();
  return report::timeline_json(
      {timeline_, profile_, context_.sources(), "", {}, false, nullptr, nullptr, {}, &sampler_.calls()});
}

std::string Profiling::folded_stacks() { return report::folded_stacks(view("", false)); }

void Profiling::write_trace(const std::string& path) {
  std::ofstream file(path);
  if (!file) fail(ErrorName::cannot_write_file, "cannot write {}: {}", path, std::strerror(errno));
  report::write_trace(view("", false), file);
  file.close();
  if (!file) fail(ErrorName::cannot_write_file, "cannot write {}: {}", path, std::strerror(errno));
}

void Profiling::share(world::Group& group, const std::string& trace) {
  const report::RankTimes own = report::rank_times(view("", false));
  std::vector<report::RankTimes> ranks;
  for (const std::string& text :
       group.share(fmt::format("{} {} {} {} {}", own.waits, own.passes, own.unhidden, own.bytes, own.calls))) {
    std::istringstream numbers(text);
    report::RankTimes& times = ranks.emplace_back();
    numbers >> times.waits >> times.passes >> times.unhidden >> times.bytes >> times.calls;
  }
  ranks_ = std::move(ranks);
  if (trace.empty()) return;
  const auto passed = static_cast<double>(exec::now_in_ticks() - timeline_.begin_ticks());
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  const double begin = now - timeline_.seconds(passed) + world::seconds_behind_first(group);
  double first = begin;
  for (const std::string& text : group.share(fmt::format("{:.9f}", begin))) first = std::min(first, std::stod(text));
  std::ostringstream events;
  report::write_trace_events(view("", false), {.rank = group.rank(), .begin = begin - first}, events);
  const std::vector<std::string> texts = gathered_texts(group, events.str());
  if (!texts.empty()) report::write_file(trace, report::joined_traces(texts));
  has_shared_trace_ = true;
}

}  // namespace tsl
