// Attacks on a host program: each ends with an error that no script can catch, in time, and the engine runs on.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include <pthread.h>

#include "api/api.h"
#include "catch.h"
#include "support/openblas.h"

namespace tsl::api_test {

namespace {

constexpr double kDeadline = 0.2;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kGrace = 0.5;  // a sanitizer makes the work between two polls take some ten times as long
#else
constexpr double kGrace = 0.05;  // how much later a run may end
#endif

/// Returns the processor time of this process, which does not count what other processes take of a busy machine.
double processor_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void limit(tsl_config& config) {
  config.capabilities = TSL_ALLOW_COMPILE;
  config.threads = 1;  // so that processor time is not more than the time that passes
  config.time_limit = kDeadline;
  config.memory_limit = uint64_t{4} << 30;
  config.host_memory_limit = uint64_t{128} << 20;
  config.element_limit = uint64_t{1} << 29;
}

/// Runs a program that never ends in time, thrice at most, and returns by how much it was late at best.
double lateness(Fixture& t, const std::string& source) {
  double best = 1e9;
  for (int i = 0; i < 3 && best > kGrace; ++i) {
    const double begin = processor_seconds();
    const tsl_status status = t.run(source);
    const double taken = processor_seconds() - begin;
    INFO(t.message());
    CHECK(status == TSL_LIMIT);
    CHECK(t.message().find("may take 0.2 seconds") != std::string::npos);
    best = std::min(best, taken - kDeadline);
  }
  return best;
}

std::string many(size_t count, const std::string& line) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += line;
  return text;
}

}  // namespace

TEST_CASE("a program that computes for long ends at its deadline, in the midst of an op", "[api][limits]") {
  const char* const programs[] = {
      "while true { }",
      "while true { try { while true { } } catch e { } }",
      "fn f(n) { if n == 0 { return 0 }\ntry { return f(n - 1) + f(n - 1) } catch e { return 0 } }\nf(1000)",
      "let a = ones([6000, 6000])\nmatmul(a, a)",
      "let a = ones([3000, 3000], dtype: f64)\nmatmul(matmul(a, a), a)",
      "let a = ones([20000, 64])\nmatmul(a, transpose(a))",
      "let a = ones([8, 20000000])\nmatmul(a, transpose(a))",
      "let a = ones([3000, 3000], dtype: i64)\nmatmul(a, a)",
      "sort(rand([30000000]))",
      "argsort(rand([2, 15000000]), axis: 0)",
      "cumsum(ones([200000000], dtype: u8))",
      "cumsum(ones([200000000]))",
      "rand([200000000]) |> sin |> sum",
      "randn([200000000])",
      "let x = rand([100000000])\nexp(x) + sin(x)",
      "sum(sin(ones([20000, 20000])), axis: 0)",
      "conv2d(ones([16, 64, 128, 128]), ones([64, 64, 5, 5]))",
      "let a = rand([100000000])\na[a > 0.5]",
      "fn f(x) { var y = x\nfor i in 0..1000000 { y = sin(y) * 1.01 }\nreturn y }\nf(ones([100000]))",
      "@compile\nfn f(x) { var y = x\nfor i in 0..1000000 { y = sin(y) * 1.01 + float(i) }\nreturn y }\nf(ones([10]))",
      "@compile\nfn f(x) { var y = x\nfor i in 0..100 { y = sin(y) * 1.01 }\nreturn y "
      "}\nfloat(sum(f(ones([50000000]))))",
      "fn f(a, b) { var s = a\nfor i in 0..100 { s += b }\nreturn s }\nreduce(f, 0..3000000)",
  };
  Fixture t(limit);
  for (const char* source : programs) {
    INFO(source);
    CHECK(lateness(t, source) < kGrace);
    CHECK(t.text(t.eval("float(sum(ones([1000])))")) == "1000.0");
  }
}

TEST_CASE("a factorisation that LAPACK could not end before the deadline does not begin", "[api][limits]") {
  const char* const programs[] = {
      "svd(x)",
      "eigh(x)",
      "eig(x)",
      "solve(x, x)",
      "cholesky(x)",
      "qr(x)",
      "det(x)",
      "inv(x)",
      "pinv(x)",
      "lstsq(x, x)",
      "matrix_rank(x)",
      "svd(both)",
      "solve_triangular(x, x)",
      "eig(complex(x, x))",
  };
  Fixture t(limit);
  if (t.run("cholesky(eye(2))") != TSL_OK && lacks_openblas(t.message())) TSL_SKIP(t.message());
  CHECK(t.run("let x = expand(ones([1, 1]), [3000, 3000])\nlet both = expand(x, [2, 3000, 3000])") == TSL_OK);
  for (const char* program : programs) {
    INFO(program);
    CHECK(lateness(t, program) < kGrace);
  }
  for (const char* small : {"svd(eye(40))", "eig(eye(40))", "eigh(eye(40))", "solve(eye(40), eye(40))", "qr(eye(40))"})
    CHECK(t.run(small) == TSL_OK);
}

TEST_CASE("reading and compiling a long source ends at the deadline", "[api][limits]") {
  Fixture t(limit);
  const double to_free = kDeadline;  // what was read: that takes up to the time of reading, where other programs run
  CHECK(lateness(t, many(700'000, "let a = 1 + 2\n")) < kGrace + to_free);
  CHECK(lateness(t, "let a = [" + many(3'000'000, "1, ") + "]") < kGrace + to_free);
  CHECK(lateness(t, "let s = \"" + many(10'000, "{f(x)}") + "\"\n" + many(600'000, "f(x, y)\n")) < kGrace + to_free);
  CHECK(t.text(t.eval("1 + 1")) == "2");
}

TEST_CASE("host values take no more than the limit of host memory", "[api][limits]") {
  const char* const programs[] = {
      "\"x\" * 200000000",
      "[0] * 100000000",
      "var s = \"x\"\nwhile true { s += s }",
      "var s = \"x\"\nwhile true { s = s + s }",
      "var a = [0]\nwhile true { a += [1] }",
      "var a = [0]\nwhile true { a = [a, a, a, a] }",
      "var a = [0]\nwhile true { a = a + a }",
      "var r = {a: 1}\nvar i = 0\nwhile true { i += 1\nr[str(i)] = i }",
      "var a = []\nwhile true { let n = len(a)\na += [fn() = n] }",
      "sorted(0..1000000000)",
      "zip(0..1000000000, 0..1000000000)",
      "enumerate(0..1000000000)",
      "map(fn(i) = i, 0..1000000000)",
      "range(0, 1000000000, 2)",
      "zeros([100000000], dtype: u8).tolist()",
      "join([\"x\" * 1000000] * 1000)",
      "(\"a\" * 1000000).replace(\"a\", \"x\" * 1000)",
      "str([\"x\" * 1000000] * 1000)",
      "let s = \"x\" * 1000000\nvar t = \"\"\nwhile true { t = f\"{s}{t}\" }",
  };
  Fixture t([](tsl_config& config) {
    limit(config);
    config.time_limit = 60;
  });
  for (const char* source : programs) {
    INFO(source);
    CHECK(t.run(std::string("try { ") + source + " } catch e { }") == TSL_LIMIT);
    INFO(t.message());
    CHECK(t.message().find("bytes for strings, lists and records") != std::string::npos);
    t.run("var s = nil\nvar t = nil\nvar a = nil\nvar r = nil");
    CHECK(t.text(t.eval("len(\"x\" * 10000000)")) == "10000000");
  }
}

TEST_CASE("tensors take no more than the limits of memory and of elements", "[api][limits]") {
  Fixture t([](tsl_config& config) {
    config.capabilities = TSL_ALLOW_COMPILE;
    config.memory_limit = 64 << 20;
    config.element_limit = 1'000'000;
  });
  CHECK(t.run("try { zeros([1001, 1000]) } catch e { }") == TSL_LIMIT);
  CHECK(t.message().find("a tensor may have 1000000 elements") != std::string::npos);
  CHECK(t.run("try { zeros([1]).expand([1000000000]) } catch e { }") == TSL_LIMIT);
  CHECK(t.run("try { var a = zeros([1])\nwhile true { a = concat([a, a]) } } catch e { }") == TSL_LIMIT);
  CHECK(t.run("@compile\nfn f(x) = sum(expand(reshape(x, [len(x), 1]), [len(x), len(x)]) + "
              "1.0)\nf(ones([10]))\nf(ones([11]))\nf(ones([12]))") == TSL_OK);
  CHECK(t.run("try { f(ones([1001])) } catch e { }") == TSL_LIMIT);
  CHECK(t.run("var kept = []\nwhile true { kept += [ones([1000, 1000])] }") == TSL_MEMORY);
  CHECK(t.text(t.eval("kept = []\nfloat(sum(ones([1000, 1000])))")) == "1000000.0");
}

TEST_CASE("deep recursion ends", "[api][limits]") {
  const char* const programs[] = {
      "fn f(n) = f(n + 1) + 1\nf(0)",
      "fn f(n) = map(f, [n])\nf(0)",
      "@compile\nfn f(x) = f(x + 1.0)\nf(ones([2]))",
      "fn f(n) = reduce(fn(a, b) = f(a), [n, n])\nf(0)",
  };
  const auto ends = [&](uint32_t depth) {
    Fixture t([&](tsl_config& config) {
      config.capabilities = TSL_ALLOW_COMPILE;
      config.depth_limit = depth;
    });
    bool all = true;
    for (const char* source : programs) all &= t.run(source) == TSL_LIMIT;
    all &= t.run("let a = " + std::string(100'000, '(')) == TSL_LIMIT;
    all &= t.run("let a = " + std::string(900, '(') + "1" + std::string(900, ')')) != TSL_INTERNAL;
    all &= t.run("let a = " + many(100'000, "-") + "1") != TSL_INTERNAL;
    return all && t.run("fn g(n) = if n == 0 { 0 } else { g(n - 1) }\ng(90)") == TSL_OK;
  };
  CHECK(ends(0));
  CHECK(ends(100));
  SECTION("on a small stack") {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    bool result = false;
    const std::function<void()> body = [&] { result = ends(0); };
    pthread_t thread;
    const auto start = [](void* function) -> void* {
      (*static_cast<const std::function<void()>*>(function))();
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK(result);
  }
}

TEST_CASE("a depth limit of the host is not caught", "[api][limits]") {
  Fixture t([](tsl_config& config) { config.depth_limit = 100; });
  CHECK(t.run("fn f(n) = f(n + 1) + 1\ntry { f(0) } catch e { }") == TSL_LIMIT);
  CHECK(t.message() == "more than 100 calls are nested");
}

TEST_CASE("an interrupt ends an op on all threads, and one run only", "[api][limits]") {
  Fixture t([](tsl_config& config) { config.threads = 2; });
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    tsl_interrupt(t.engine);
  });
  CHECK(t.run("try { let a = ones([9000, 9000])\nmatmul(a, a) } catch e { }") == TSL_INTERRUPT);
  other.join();
  CHECK(t.text(t.eval("float(sum(matmul(ones([100, 100]), ones([100, 100]))))")) == "1000000.0");
}

TEST_CASE("sleeping ends at a deadline and at an interrupt", "[api][limits]") {
  Fixture late([](tsl_config& config) {
    config.capabilities = TSL_ALLOW_CLOCK;
    config.time_limit = kDeadline;
  });
  CHECK(late.run("try { sleep(3600) } catch e { }") == TSL_LIMIT);
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_CLOCK; });
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    tsl_interrupt(t.engine);
  });
  CHECK(t.run("try { sleep(3600) } catch e { }") == TSL_INTERRUPT);
  other.join();
}

}  // namespace tsl::api_test
