// Polls in the midst of long work on the values of a program. Count here, and a new builtin cannot be late.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tsl {

namespace counted_work {

extern constinit thread_local int64_t left_until_poll __attribute__((tls_model("initial-exec")));
void poll();

}  // namespace counted_work

/// Counts work of this thread, in units of about a nanosecond, and polls (see poll_stop) for each 0.3 ms of it. The
/// count goes on from one call to the next, so that many short works are as good as a long one.
inline void count_work(int64_t work) {
  if ((counted_work::left_until_poll -= work) < 0) counted_work::poll();
}

/// Calls body(i) for each i in [0, count), and counts `work` for each.
template <class Body> void polled_each(size_t count, int64_t work, Body&& body) {
  constexpr size_t kPart = 1 << 10;
  for (size_t first = 0; first < count; first += kPart) {
    const size_t end = std::min(count, first + kPart);
    count_work(work * static_cast<int64_t>(end - first));
    for (size_t i = first; i < end; ++i) body(i);
  }
}

}  // namespace tsl
