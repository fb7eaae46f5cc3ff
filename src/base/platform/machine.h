// The machine: the CPUs and the memory that this process may use, which are fewer where a cgroup, as of a container, or
// the CPU affinity limits them, and what the system says of the processor.
#pragma once

#include <cstdint>
#include <string>

namespace tsl::platform {

struct MachineLimits {
  int cpus = 1;         // affinity and CPU quota, at least one
  uint64_t memory = 0;  // bytes: physical memory, or what the cgroup leaves for tensors
};

/// Reads the limits. `root` is put in front of /proc and /sys, for tests.
MachineLimits read_machine_limits(const std::string& root = "");

/// Returns the limits at the first call of this function.
const MachineLimits& machine_limits();

/// Returns the size of the last cache that the first core has; 0: unknown. (sysconf() says what all cores of a socket
/// have, which may be several caches.)
uint64_t last_cache_bytes();
/// Returns the maker's name of the processor; "" if it is unknown.
std::string processor_name();
/// Returns a text that the running system has drawn when it started; "" if it has none.
std::string boot_name();

}  // namespace tsl::platform
