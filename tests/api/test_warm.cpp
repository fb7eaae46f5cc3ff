// Tests that calls which have been made before allocate no memory and make no system call, and what a run does whose
// allocation fails.
#include <cstdlib>
#include <new>

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api.h"

using namespace tsl::api_test;

// Memory that is poisoned, and sanitizers, allocate and call the system on their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

thread_local uint64_t allocations = 0;
thread_local uint64_t failing = 0;  // the number of the allocation that fails; 0: none

}  // namespace

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (++allocations == failing) return nullptr;
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

TEST_CASE("a text does not pay for what its session has declared", "[api]") {
  Warm t;
  const auto allocations_of_texts = [&] {
    const uint64_t before = allocations;
    for (int i = 0; i < 50; ++i) t.eval("1 + 1");
    return allocations - before;
  };
  allocations_of_texts();
  const uint64_t few = allocations_of_texts();
  std::string text;
  for (int i = 0; i < 16'000; ++i) text += fmt::format("let global_{} = {}\n", i, i);
  t.eval(text.c_str());
  allocations_of_texts();
  CHECK(allocations_of_texts() < 2 * few);
}

TEST_CASE("each allocation of a run may fail", "[api]") {
  Fixture t;
  const auto text = [](tsl_engine engine, void*, const tsl_value*, size_t, tsl_value* result) {
    return tsl_new_string(engine, str("a text that is too long to be stored in place"), result);
  };
  REQUIRE(tsl_define(t.engine, str("text()"), str(""), text, nullptr, nullptr) == TSL_OK);
  const std::string_view texts[] = {
      "var a = [1]\nvar b = [a]\nfn c() = b", "for i in 0..2 { try { let (j, k) = (i, [i]) } catch e { print(e) } }",
      "[a, b, c()]", "[text()]",
      "fn g(x) { try { return x.reshape([3]) } catch e { return [e.kind, e.message] } }\nmap(g, [ones([4])])"};
  for (const std::string_view source : texts) {
    INFO(source);
    const tsl_value expected = t.eval(source);  // and the parser has seen it
    bool has_failed = true;
    int errors = 0;
    for (uint64_t n = 1; has_failed && n < 10'000; ++n) {
      tsl_value value = {0};
      failing = allocations + n;
      const tsl_status status = tsl_run(t.engine, str("test"), str(source), &value);
      has_failed = allocations >= failing;
      failing = 0;
      errors += status != TSL_OK;
      if (status != TSL_OK) CHECK(status == TSL_MEMORY);
      else if (value.id != 0 && t.text(value) != t.text(expected))
        CHECK(t.text(value) == "[[\"memory\", \"out of memory\"]]");
      tsl_release(t.engine, value);
      CHECK(t.text(t.eval("[a]")) == "[[1]]");  // what was declared is still there
    }
    CHECK_FALSE(has_failed);
    CHECK(errors > 10);
  }
}

TEST_CASE("a warm call makes no system call", "[api]") {
  const auto ends_well = [&](auto&& body) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Warm t;
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);  // the kernel kills it for any call but read(), write() and exit()
      const bool is_right = body(t);
      syscall(SYS_exit, is_right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  CHECK(ends_well([](Warm& t) {
    bool is_right = true;
    for (int i = 0; i < 100; ++i) is_right &= t.call();
    return is_right;
  }));
  CHECK_FALSE(ends_well([](Warm&) { return getppid() > 0; }));  // so they are noticed
}

#endif
