// Clocks and waits of the system that the C++ library does not give.
#pragma once

namespace tsl::platform {

/// Returns the time of a clock that takes a few nanoseconds to read and may be some milliseconds late.
double coarse_seconds();

/// Makes the waits of this thread end when their time is over, rather than when the system wakes other threads, too.
void wake_in_time();

}  // namespace tsl::platform
