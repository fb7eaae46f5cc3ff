// What a backend has done since it was opened: what shows whether a program launches, copies and allocates as it
// should.
#pragma once

#include <cstdint>

namespace tsl::graph {

/// On the host, which has no driver, a kernel is a launch of a plan, and nothing is copied or compiled.
struct Counters {
  uint64_t kernels = 0;          // launched, those inside CUDA graphs too; a product by a library counts as one
  uint64_t graph_launches = 0;   // of CUDA graphs, each of which launches several kernels at once
  uint64_t bytes_to_device = 0;  // copied from the host; numbers that are arguments of kernels do not count
  uint64_t bytes_to_host = 0;
  uint64_t bytes_on_device = 0;     // copied within the device, other than by kernels
  uint64_t driver_allocations = 0;  // times memory was asked from the driver, or the system, and not found in the cache
  uint64_t kernels_compiled = 0;    // by NVRTC
  uint64_t kernels_from_disk = 0;   // found in the cache on disk, and loaded
  uint64_t memory = 0;              // bytes in use by tensors
  uint64_t memory_peak = 0;         // the most there have been at any time
  uint64_t memory_cached = 0;       // bytes kept for reuse
};

}  // namespace tsl::graph
