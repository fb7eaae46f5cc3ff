#include "engine/profiling.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <new>

#include "base/error.h"
#include "engine/engine.h"

#include "engine/roofline.h"
#include "report/profile_table.h"
#include "report/profile_trace.h"
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

std::string Profiling::text(const std::string& title, bool color) {
  timeline_.flush();
  std::map<std::string, report::Roofline> known;
  const auto roofline = [&](Device device) {
    const std::string name = to_string(device);
    const auto at = known.find(name);
    if (at != known.end()) return at->second;
    return known[name] = roofline_of(devices_.at(device).hardware(), device, options_);
  };
  memory_.look();
  return report::profile_text({timeline_, profile_, context_.sources(), title, roofline, color, &memory_});
}

std::string Profiling::timings_text(const std::string& title) {
  timeline_.flush();
  return report::timings_text({timeline_, profile_, context_.sources(), title, {}, false, nullptr}, timings_);
}

void Profiling::write_trace(const std::string& path) {
  timeline_.flush();
  std::ofstream file(path);
  if (!file) fail(ErrorKind::io, "cannot write {}: {}", path, std::strerror(errno));
  report::write_trace({timeline_, profile_, context_.sources(), "", {}, false, &memory_}, file);
  file.close();
  if (!file) fail(ErrorKind::io, "cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace tsl
