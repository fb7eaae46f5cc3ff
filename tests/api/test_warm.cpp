// Tests that calls which have been made before allocate no memory and make no system call.
#include <cstdlib>
#include <new>

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

using namespace tsl::api_test;

// Memory that is poisoned, and sanitizers, allocate and call the system on their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

thread_local uint64_t allocations = 0;

}  // namespace

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
void* operator new(size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace {

/// A compiled function and an interpreted one, called often enough that all is prepared.
struct Warm : Fixture {
  Warm()
      : Fixture([](tsl_config& config) {
          config.capabilities = TSL_ALLOW_COMPILE;
          config.threads = 1;
        }) {
    eval("@compile\nfn scale(x) = x * 2.0 + 1.0\nfn same(x) = x");
    argument = wrap(numbers);
    functions[0] = get("scale");
    functions[1] = get("same");
    for (int i = 0; i < 20; ++i) call();
  }
  /// Calls both functions, and releases their results.
  bool call() {
    bool is_right = true;
    for (const tsl_value function : functions) {
      tsl_value result = {0};
      is_right &= tsl_call(engine, function, &argument, 1, &result) == TSL_OK;
      is_right &= tsl_release(engine, result) == TSL_OK;
    }
    return is_right;
  }
  std::vector<float> numbers = std::vector<float>(8, 1.0f);
  tsl_value argument = {0}, functions[2] = {};
};

}  // namespace

TEST_CASE("a warm call allocates nothing", "[api]") {
  Warm t;
  const uint64_t before = allocations;
  bool is_right = true;
  for (int i = 0; i < 100; ++i) is_right &= t.call();
  CHECK(allocations == before);
  CHECK(is_right);
  t.eval("[1, 2]");
  CHECK(allocations > before);  // so they are counted
}

TEST_CASE("a warm call makes no system call", "[api]") {
  Warm t;
  const auto ends_well = [&](auto&& body) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {  // from here on, the kernel kills it for any call but read(), write() and exit()
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
      const bool is_right = body();
      syscall(SYS_exit, is_right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  CHECK(ends_well([&] {
    bool is_right = true;
    for (int i = 0; i < 100; ++i) is_right &= t.call();
    return is_right;
  }));
  CHECK_FALSE(ends_well([] { return getppid() > 0; }));  // so they are noticed
}

#endif
