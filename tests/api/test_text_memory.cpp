// What texts leave behind in an engine: nothing, once no variable and no handle refers to their functions.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "api/api.h"
#include "catch.h"
#include "support/process_memory.h"

namespace tsl::api_test {

namespace {

constexpr int64_t kMiB = 1 << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kMostGrowth = 64 * kMiB;  // a sanitizer keeps what was freed
#else
constexpr int64_t kMostGrowth = kMiB;
#endif

/// Returns how many texts run: more in tools/check --long.
int wanted_texts() {
  const char* const given = std::getenv("TSL_TEXTS");
  return given ? std::atoi(given) : 3'000;
}

void run_within_limits(tsl_config& config) {
  config.threads = 1;
  config.capabilities = TSL_ALLOW_COMPILE;
  config.host_memory_limit = 64 * kMiB;
}

/// Returns a text that no other number has: a third is compiled, a third fails.
std::string text_of(int i) {
  const std::string number = std::to_string(i);
  switch (i % 6) {
    case 0: return "fn f(n) {\nif n < 2 { return " + number + " }\nreturn f(n - 1) + 1\n}\nf(3)";
    case 1:
    case 4:
      return "var scale = " + number + "\nfn inner(x) = sin(x) + scale\n@compile\nfn f(x) {\nvar y = x * " + number +
             ".5\nfor k in 0..3 { y = inner(y) }\nreturn y\n}\nf(ones([4]))";
    case 2: return "fn f(n) = unknown_" + number;
    case 3: return "let add = fn(a) = fn(b) = a + b + " + number + "\nlet made = add(1)\nmade(2)";
    default: return "fn f(n) = n + \"" + number + "\"\nfn g(n) = f(n)\ng(1)";
  }
}

void run_texts(Fixture& t, int first, int end) {
  for (int i = first; i < end; ++i) {
    const bool fails = i % 6 == 2 || i % 6 == 5;
    INFO(text_of(i) << "\n" << t.message());
    REQUIRE((t.run(text_of(i)) == TSL_OK) == !fails);
  }
}

/// Checks that texts take no more memory after the first third of them.
void check_growth(Fixture& t) {
  const int count = wanted_texts();
  run_texts(t, 0, count / 3);
  const int64_t before = resident_bytes();
  run_texts(t, count / 3, count);
  const int64_t growth = resident_bytes() - before;
  INFO(count << " texts, " << growth << " bytes");
  CHECK(growth < kMostGrowth);
}

}  // namespace

TEST_CASE("texts that declare functions leave nothing", "[api][limits][texts]") {
  Fixture t(run_within_limits);
  check_growth(t);
}

TEST_CASE("explain() does not make later texts stay", "[api][limits][texts]") {
  Fixture t(run_within_limits);
  REQUIRE(t.run("@compile\nfn shown(x) = x + 1\nshown(ones([2]))\nexplain(shown)\nshown(ones([3]))") == TSL_OK);
  check_growth(t);
  CHECK(t.text(t.eval("explain(shown)")).find("shown") != std::string::npos);
}

TEST_CASE("all that texts compile with --compile goes with them", "[api][limits][texts]") {
  const tsl_option compile = {str("compile"), str("on")};
  Fixture t([&](tsl_config& config) {
    run_within_limits(config);
    config.options = &compile;
    config.option_count = 1;
  });
  check_growth(t);
}

TEST_CASE("a function remains as long as a variable, a handle or a trace refers to it", "[api][limits][texts]") {
  Fixture t(run_within_limits);
  REQUIRE(t.run("fn helper(x) = x * 2\n@compile\nfn kept(x) = helper(x) + 1") == TSL_OK);
  const tsl_value closure = t.eval("fn make(a) = fn(b) = a * 10 + b\nmake(4)");
  const tsl_value list = t.eval("[fn(a) = a + 100, {f: fn(a) { error(\"as it is\") }}]");
  REQUIRE(t.text(t.eval("kept(ones([2]))[0].item()")) == "3.0");
  run_texts(t, 0, 600);
  CHECK(t.text(t.eval("kept(ones([2]))[0].item()")) == "3.0");
  const tsl_value two = t.eval("2");
  tsl_value result = {0};
  REQUIRE(tsl_call(t.engine, closure, &two, 1, &result) == TSL_OK);
  CHECK(t.text(result) == "42");
  REQUIRE(tsl_set(t.engine, str("list"), list) == TSL_OK);
  CHECK(t.text(t.eval("list[0](1)")) == "101");
  CHECK(t.run("list[1].f(1)") == TSL_USER);
  tsl_string rendered = {};
  REQUIRE(tsl_get_error_text(t.engine, &rendered) == TSL_OK);
  CHECK(api_test::text_of(rendered).find("error(\"as it is\")") != std::string::npos);
}

TEST_CASE("the source of the last error remains until the next error", "[api][limits][texts]") {
  Fixture t(run_within_limits);
  REQUIRE(t.run("fn wrong(n) = n + \"a text\"\nfn outer(n) = wrong(n)\nouter(1)") == TSL_TYPE);
  REQUIRE(t.run("fn wrong(n) = 1\nfn outer(n) = 2") == TSL_OK);
  for (int i = 0; i < 600; i += 6) run_texts(t, i, i + 2);
  tsl_string rendered = {};
  REQUIRE(tsl_get_error_text(t.engine, &rendered) == TSL_OK);
  CHECK(api_test::text_of(rendered).find("fn wrong(n) = n + \"a text\"") != std::string::npos);
  CHECK(api_test::text_of(rendered).find("fn outer(n) = wrong(n)") == std::string::npos);  // its line is a number
  CHECK(api_test::text_of(rendered).find("called from outer (test:2)") != std::string::npos);
}

}  // namespace tsl::api_test
