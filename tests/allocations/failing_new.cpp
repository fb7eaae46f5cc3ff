// Allocation that fails once, at the call whose number is in TSL_FAIL_ALLOCATION: operator new, and aligned_alloc,
// which tensors take their memory from. run.py preloads it into the program. Without the variable, it prints the number
// of calls at the end.
#include <algorithm>
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

/// Allocates as malloc does, or as aligned_alloc if there is an alignment.
void* allocate(std::size_t size, std::size_t alignment = 0) {
  if (++count == failing_call()) return nullptr;
  if (alignment == 0) return std::malloc(size ? size : 1);
  void* memory = nullptr;
  return posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) == 0 ? memory : nullptr;
}

void* or_throw(void* memory) {
  if (memory) return memory;
  throw std::bad_alloc();
}

}  // namespace

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return allocate(size, alignment); }

// All forms, since a sanitizer's own would not call these.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new(std::size_t size) { return or_throw(allocate(size)); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, static_cast<std::size_t>(alignment)));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
