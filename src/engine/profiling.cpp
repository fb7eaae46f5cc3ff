#include "engine/profiling.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>

#include "base/error.h"
#include "engine/engine.h"

#include "engine/roofline.h"
#include "report/profile_json.h"
#include "report/profile_trace.h"
#include "report/times.h"
#include "value/context.h"

namespace tsl {

Profiling::Profiling(Context& context, exec::Devices& devices, report::MemoryLedger& memory, exec::RangeSink* ranges,
                     const EngineOptions& options)
    : context_(context),
      devices_(devices),
      memory_(memory),
      options_(options),
      peaks_before_(memory.begin_peaks()),
      profile_(options.trace_events),
      timeline_(profile_, ranges),
      before_(devices.instruments()) {
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
  return {timeline_, profile_, context_.sources(), title, rooflines(), color, &memory_};
}

std::function<report::Roofline(Device)> Profiling::rooflines() {
  return [this](Device device) {
    const auto [at, is_new] = rooflines_.try_emplace(to_string(device));
    if (is_new) at->second = roofline_of(devices_.at(device), device, options_);
    return at->second;
  };
}

std::string Profiling::text(const std::string& title, bool color) { return report::profile_text(view(title, color)); }

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
  return report::timeline_json({timeline_, profile_, context_.sources(), "", {}, false, nullptr});
}

void Profiling::write_trace(const std::string& path) {
  std::ofstream file(path);
  if (!file) fail(ErrorKind::io, "cannot write {}: {}", path, std::strerror(errno));
  report::write_trace(view("", false), file);
  file.close();
  if (!file) fail(ErrorKind::io, "cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace tsl
