// The activities of an executable's kernels in a timeline.
#pragma once

#include <vector>

#include "exec/executable.h"
#include "exec/timeline.h"

namespace tsl::exec {

class PlanActivities {
 public:
  /// Returns the activity of the executable's first kernel; those of its other kernels follow. The first call for a
  /// timeline adds them.
  Timeline::Id first(Timeline& timeline, const Executable& executable, Device device) {
    return first(timeline, executable.plan(), device, [&] { return executable.kernels(); });
  }
  /// As above, for some kernels of a plan, which `kernels` returns.
  template <class Kernels>
  Timeline::Id first(Timeline& timeline, const graph::Plan& plan, Device device, Kernels&& kernels) {
    if (timeline.serial() != serial_) add(timeline, plan, device, kernels());
    return first_;
  }

  /// Returns what first() returned last.
  Timeline::Id id() const { return first_; }

 private:
  void add(Timeline& timeline, const graph::Plan& plan, Device device, std::vector<LoadedKernel> kernels);

  uint64_t serial_ = 0;  // of the timeline
  Timeline::Id first_ = 0;
};

}  // namespace tsl::exec
