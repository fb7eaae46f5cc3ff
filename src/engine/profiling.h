// One profile of an engine: its timeline, from begin to end.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "exec/devices.h"
#include "profile/host_sampler.h"
#include "profile/memory_ledger.h"
#include "profile/profile.h"
#include "profile/profile_table.h"
#include "profile/timings.h"
#include "report/recording.h"

namespace tsl {

class Context;
struct EngineOptions;
namespace world {
class Group;
}

class Profiling {
 public:
  /// Begins. `ranges`: shows the scopes as well, or null. `trace_events`: the most that are kept for a trace.
  Profiling(Context& context, Interpreter& interpreter, exec::Devices& devices, report::MemoryLedger& memory,
            exec::RangeSink* ranges, const EngineOptions& options, size_t trace_events);
  /// Ends; the devices have the instruments that they had before.
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  exec::Timeline& timeline() { return timeline_; }
  /// Formats the profile so far as tables.
  std::string text(const std::string& title, bool color, const report::TableOptions& table = {});
  /// Formats the profile so far as JSON.
  std::string json(const std::string& title);
  /// Formats what compiling took so far.
  std::string timings_text(const std::string& title);
  /// Fills the times of what was recorded.
  void add_times(report::Recording& recording);
  /// Formats the first events as JSON, for a page.
  std::string timeline_json();
  /// Formats the call paths of the interpreter's time as folded stacks.
  std::string folded_stacks();
  /// Tells the other ranks what this one has waited for, so that text() says which is the slowest; with a name of a
  /// file, rank 0 writes the events of all ranks to it as one trace. All ranks must call it. Throws Failure (io).
  void share(world::Group& group, const std::string& trace);
  bool has_shared_trace() const { return has_shared_trace_; }
  /// Writes the events so far as a Chrome trace. Throws Failure (io).
  void write_trace(const std::string& path);

 private:
  report::ProfileView view(const std::string& title, bool color);
  /// Returns what finds, or measures, the roofline of a device.
  std::function<report::Roofline(Device)> rooflines();
  bool exceeds(Device device, const report::Roofline& roofline) const;

  Context& context_;
  exec::Devices& devices_;
  report::MemoryLedger& memory_;
  const EngineOptions& options_;
  const std::vector<report::DeviceMemory::Peak> peaks_before_;  // by device
  report::Profile profile_;
  report::Timings timings_;
  exec::Timeline timeline_;
  const exec::Instruments before_;
  std::map<std::string, report::Roofline> rooflines_;  // by device
  report::HostSampler sampler_;
  std::vector<report::RankTimes> ranks_;  // of all ranks, once they are shared
  bool has_shared_trace_ = false;
};

}  // namespace tsl
