// The activities of an executable's kernels in a timeline.
#pragma once

#include "exec/executable.h"
#include "exec/timeline.h"

namespace tsl::exec {

class PlanActivities {
 public:
  /// Returns the activity of the executable's first kernel; those of its other kernels follow. The first call for a
  /// timeline adds them.
  Timeline::Id first(Timeline& timeline, const Executable& executable, Device device) {
    if (timeline.serial() != serial_) add(timeline, executable, device);
    return first_;
  }

 private:
  void add(Timeline& timeline, const Executable& executable, Device device);

  uint64_t serial_ = 0;  // of the timeline
  Timeline::Id first_ = 0;
};

}  // namespace tsl::exec
