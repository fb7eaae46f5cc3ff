// How close a kernel comes to what its device can do.
#pragma once

#include <cstdint>
#include <string>

#include "exec/executable.h"
#include "graph/kernel_facts.h"

namespace tsl::report {

/// What a device can do at most, as measured; 0: not known.
struct Roofline {
  double bytes_per_second = 0;
  double flops_per_second = 0;  // of f32
  uint64_t cached_bytes = 0;    // how much data stays in a cache, where the memory's speed is no limit
  graph::Rates rates = {};      // what predictions need
};

struct RoofShare {
  enum class Kind : uint8_t {
    unknown,  // no roofline, or no time
    below,    // the memory or the arithmetic of the device is the limit, to `share`
    cache,    // faster than the memory: the data fits in a cache
    above,    // faster than the device, without a reason that is known
  } kind = Kind::unknown;
  double share = 0;
};

/// Compares a launch that takes `seconds` with what its device can do.
RoofShare roof_share(const Roofline& roofline, const graph::KernelFacts& facts, double seconds);

/// Predicts the seconds that all kernels of a launch take together, of which `kernel` is one; 0 if the model does not
/// know them.
double predicted_seconds(const Roofline& roofline, const graph::KernelFacts& facts, const exec::LoadedKernel& kernel);

/// Formats a share: "93 %", "cache", "above"; "" if it is unknown.
std::string to_string(const RoofShare& share);

}  // namespace tsl::report
