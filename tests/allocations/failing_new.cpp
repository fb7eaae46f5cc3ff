// An operator new that fails once, at the call whose number is in TSL_FAIL_ALLOCATION. run.py preloads it into the
// program. Without the variable, it prints the number of calls at the end.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> count{0};

long failing_call() {
  static const long number = [] {
    const char* text = std::getenv("TSL_FAIL_ALLOCATION");
    return text ? std::atol(text) : 0;
  }();
  return number;
}

struct Report {
  ~Report() {
    if (failing_call() == 0) std::fprintf(stderr, "allocations: %ld\n", count.load());
  }
} report;

}  // namespace

// All forms, since a sanitizer's own would not call these.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return ++count == failing_call() ? nullptr : std::malloc(size ? size : 1);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
