#include "base/platform/stack_room.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

/// The highest address of the main thread's stack, in the C library of GNU.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace tsl::platform {

namespace {

constexpr uintptr_t kUsualStack = uintptr_t{8} << 20;  // of a thread without a limit
constexpr uintptr_t kLeftShare = 3;

/// As stack_of_thread(), for the main thread, for which the C library would read a file.
ThreadStack stack_of_main_thread(uintptr_t here) {
  struct rlimit limit = {};
  uintptr_t size = kUsualStack;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) size = limit.rlim_cur;
  const uintptr_t end = &__libc_stack_end ? reinterpret_cast<uintptr_t>(__libc_stack_end) : here;
  const uintptr_t begin = end - std::min(end, size);
  return {begin, begin + size / kLeftShare, end, 0};
}

ThreadStack stack_of_thread(uintptr_t here) {
  if (getpid() == gettid()) return stack_of_main_thread(here);
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
    const uintptr_t short_end = here - std::min(here, kUsualStack / 2);
    return {0, short_end, std::numeric_limits<uintptr_t>::max(), 0};
  }
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<uintptr_t>(low);
  return {begin, begin + size / kLeftShare, begin + size, 0};
}

/// Whether an address lies on the thread's own stack, also at a first use.
bool is_on_own_stack(uintptr_t here) {
  if (thread_stack.end == 0) thread_stack = stack_of_thread(here);
  return thread_stack.is_own(here);
}

}  // namespace

constinit thread_local ThreadStack thread_stack;

bool is_stack_short() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here < (is_on_own_stack(here) ? thread_stack.short_end : thread_stack.fibre_short_end);
}

void StackBelow::enter(size_t bytes) {
  const auto here = reinterpret_cast<uintptr_t>(this);
  if (is_on_own_stack(here) || thread_stack.fibre_short_end != 0) return;
  is_on_fibre_ = true;
  const size_t size = bytes > 0 ? bytes : kFibreStack;
  thread_stack.fibre_short_end = here - std::min(here, size - size / kLeftShare);
}

}  // namespace tsl::platform
