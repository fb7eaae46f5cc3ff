// Counts what a backend has done since it was opened: shows whether a program launches, copies and allocates as
// expected.
#pragma once

#include <cstdint>

namespace tsl {

/// For the host, which has no driver, a kernel is a launch of a plan, and nothing is copied or compiled.
struct Counters {
  uint64_t kernels = 0;          // launched, also in CUDA graphs; a product by a library counts as one
  uint64_t graph_launches = 0;   // launches of CUDA graphs, each with several kernels
  uint64_t bytes_to_device = 0;  // copied from the host, except numbers that are kernel arguments
  uint64_t bytes_to_host = 0;
  uint64_t bytes_on_device = 0;     // copied within the device, other than by kernels
  uint64_t driver_allocations = 0;  // allocations from the driver, or the system, that the cache could not serve
  uint64_t kernels_compiled = 0;    // by NVRTC
  uint64_t kernels_from_disk = 0;   // found in the cache on disk, and loaded
  uint64_t memory = 0;              // bytes in use by tensors
  uint64_t memory_peak = 0;         // the largest value of `memory` so far
  uint64_t memory_cached = 0;       // bytes kept for reuse
};

}  // namespace tsl
