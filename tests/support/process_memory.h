// What a process takes of the machine's memory, for tests that nothing is left behind.
#pragma once

#include <cstdint>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace tsl {

/// Returns the bytes of this process in memory, after free memory has been given back to the system.
inline int64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream counts("/proc/self/statm");
  int64_t all = 0, resident = 0;
  counts >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace tsl
