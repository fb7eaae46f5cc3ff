#include "base/platform/timing.h"

#include <chrono>
#include <ctime>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace tsl::platform {

double coarse_seconds() {
#if defined(CLOCK_MONOTONIC_COARSE)
  constexpr double kNanosecond = 1e-9;
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<double>(time.tv_sec) + kNanosecond * static_cast<double>(time.tv_nsec);
#else
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

void wake_in_time() {
#if defined(__linux__)
  ::prctl(PR_SET_TIMERSLACK, 1UL);
#endif
}

}  // namespace tsl::platform
