// Runs a whole plan on random inputs, and measures it.
#pragma once

#include <cstdint>

#include "exec/devices.h"

namespace tsl::exec {

/// What a run takes, from the call until the device has computed the results: the median, the 10th and the 90th
/// percentile, in seconds.
struct RunTimes {
  uint64_t runs = 0;
  double median = 0, low = 0, high = 0;
};

/// Measures a plan for some seconds, and at least kBenchRuns runs. Symbols have the values of their hints. Throws
/// Failure if it cannot run.
RunTimes time_plan(Devices& devices, Device device, const graph::Plan& plan, double seconds);

}  // namespace tsl::exec
