#include "base/stack_room.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// The highest address of the main thread's stack, in the C library of GNU.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace tsl {

namespace {

constexpr uintptr_t kUsualStack = uintptr_t{8} << 20;  // of a thread without a limit
constexpr uintptr_t kLeftShare = 3;

/// Where the stack is short: from its end to a third of it. A coroutine may run elsewhere.
struct ShortPart {
  uintptr_t begin = 0, end = 0;
};

/// As short_part(), for the main thread, for which the C library would read a file.
ShortPart short_part_of_main_thread(uintptr_t here) {
  struct rlimit limit = {};
  uintptr_t size = kUsualStack;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) size = limit.rlim_cur;
  const uintptr_t top = &__libc_stack_end ? reinterpret_cast<uintptr_t>(__libc_stack_end) : here;
  const uintptr_t begin = top - std::min(top, size);
  return {begin, begin + size / kLeftShare};
}

ShortPart short_part(uintptr_t here) {
  if (getpid() == gettid()) return short_part_of_main_thread(here);
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {0, here - std::min(here, kUsualStack / 2)};
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<uintptr_t>(low);
  return {begin, begin + size / kLeftShare};
}

}  // namespace

bool is_stack_short() {
  static constinit thread_local ShortPart part;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (part.end == 0) part = short_part(here);
  return part.begin <= here && here < part.end;
}

}  // namespace tsl
