// The CPUs and the memory that this process may use: those of the machine, or fewer where a cgroup, as of a container,
// or the CPU affinity limits them.
#pragma once

#include <cstdint>
#include <string>

namespace tsl {

struct MachineLimits {
  int cpus = 1;         // affinity and CPU quota, at least one
  uint64_t memory = 0;  // bytes: physical memory, or what the cgroup leaves for tensors
};

/// Reads the limits. `root` is put in front of /proc and /sys, for tests.
MachineLimits read_machine_limits(const std::string& root = "");

/// Returns the limits at the first call of this function.
const MachineLimits& machine_limits();

}  // namespace tsl
