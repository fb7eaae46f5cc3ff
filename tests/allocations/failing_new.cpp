// Preloaded into the program by run.py: the operator new that the variable TSL_FAIL_ALLOCATION counts out fails, once.
// Without the variable, the number of calls is printed at the end.
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

void* operator new(std::size_t size) {
  if (++count == failing_call()) throw std::bad_alloc();
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
