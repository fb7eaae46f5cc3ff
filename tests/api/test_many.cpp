// Many engines, in many threads, and many runs of one: results do not mix, and memory does not grow.
#include <malloc.h>

#include <atomic>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "api/api.h"
#include "catch.h"

namespace tsl::api_test {

namespace {

/// Returns the bytes that the process has allocated and not freed.
int64_t allocated_bytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // their allocators report nothing: they find leaks themselves
#else
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
#endif
}

/// Returns by how much the memory grows from the first calls of `body` to all of them.
int64_t growth(int first, int all, const std::function<void()>& body) {
  for (int i = 0; i < first; ++i) body();
  const int64_t before = allocated_bytes();
  for (int i = first; i < all; ++i) body();
  return allocated_bytes() - before;
}

}  // namespace

TEST_CASE("eight engines in eight threads compute as one does", "[api][engines]") {
  constexpr int kThreads = 8, kScripts = 25;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread, &right] {
      tsl_config config;
      tsl_config_init(&config);
      config.capabilities = TSL_ALLOW_COMPILE;
      config.time_limit = 60;
      config.host_memory_limit = uint64_t{1} << 30;
      tsl_engine engine = {0};
      if (tsl_engine_create(&config, &engine) != TSL_OK) return;
      const auto run = [&](const std::string& source, double& number) {
        tsl_value value = {0};
        const bool is_right = tsl_run(engine, str("test"), str(source), &value) == TSL_OK &&
                              tsl_get_float(engine, value, &number) == TSL_OK;
        tsl_release(engine, value);
        return is_right;
      };
      double number = 0;
      run("import nn\n@compile\nfn f(x, k) = sum(matmul(x, x) * k) + sum(nn.relu(x))\n0", number);
      for (int i = 1; i <= kScripts; ++i) {
        const int n = 50 + i;
        const std::string source = fmt::format(
            "var s = \"\"\nfor i in 0..100 {{ s += str(i) }}\nlet x = ones([{0}, {0}])\n"
            "float(f(x, {1}.0)) + float(sum(sort(rand([1000])) * 0.0)) + len(s)",
            n, thread);
        const double expected = static_cast<double>(n) * n * n * thread + static_cast<double>(n) * n + 190;
        right += run(source, number) && number == expected;
      }
      tsl_engine_destroy(engine);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == kThreads * kScripts);
}

TEST_CASE("engines leave no memory behind", "[api][engines]") {
  const int64_t grown = growth(100, 2100, [] {
    Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
    t.run("fn f(x) = x * 2.0\nf(ones([10]))");
  });
  CHECK(grown < 200'000);  // 1 MB for 10,000 engines
}

TEST_CASE("runs of one engine leave no memory behind", "[api][engines]") {
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
  t.eval("@compile\nfn f(x) = sum(x * 2.0) + 1.0\nvar total = 0.0");
  int i = 0;
  const int64_t grown = growth(500, 5500, [&] {
    ++i;
    tsl_value value =
        t.eval(fmt::format("let a = [1, 2, {0}]\nvar r = {{x: a}}\nfor k in 0..3 {{ total += float(f(ones([8]))) }}\n"
                           "let b = \"{0}\"\nlen(b) + r.x[2]",
                           i % 10));
    tsl_release(t.engine, value);
    if (i % 5 == 0) t.run("error(\"as planned\")");
  });
  CHECK(grown < 5000 * 100);  // less than the texts
  CHECK(t.text(t.eval("(total, r.x[1], b)")).find("2,") != std::string::npos);
}

}  // namespace tsl::api_test
