#include "engine/profiling.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include "base/error.h"
#include "engine/engine.h"

#include "engine/roofline.h"
#include "report/profile_table.h"
#include "report/profile_trace.h"
#include "value/context.h"

namespace tsl {

Profiling::Profiling(Context& context, exec::Devices& devices, const EngineOptions& options)
    : context_(context),
      devices_(devices),
      options_(options),
      profile_(options.trace_events),
      timeline_(profile_),
      before_(devices.instruments()) {
  devices_.instruments().timeline = &timeline_;
  devices_.instruments().observers.push_back(&profile_);
  devices_.instruments().observers.push_back(&timings_);
}

Profiling::~Profiling() {
  timeline_.flush();
  devices_.instruments() = before_;
}

std::string Profiling::text(const std::string& title, bool color) {
  timeline_.flush();
  std::map<std::string, report::Roofline> known;
  const auto roofline = [&](Device device) {
    const std::string name = to_string(device);
    const auto at = known.find(name);
    if (at != known.end()) return at->second;
    return known[name] = roofline_of(devices_.at(device), device, options_);
  };
  return report::profile_text({timeline_, profile_, context_.sources(), title, roofline, color});
}

std::string Profiling::timings_text(const std::string& title) {
  timeline_.flush();
  return report::timings_text({timeline_, profile_, context_.sources(), title, {}, false}, timings_);
}

void Profiling::write_trace(const std::string& path) {
  timeline_.flush();
  std::ofstream file(path);
  if (!file) fail(ErrorKind::io, "cannot write {}: {}", path, std::strerror(errno));
  report::write_trace({timeline_, profile_, context_.sources(), "", {}, false}, file);
  file.close();
  if (!file) fail(ErrorKind::io, "cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace tsl
