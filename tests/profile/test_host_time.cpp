// Tests what samples say about the interpreter's time.
#include <algorithm>
#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

#include "profile/host_time.h"
#include "profile/profile.h"
#include "support/contains.h"
#include "support/session.h"

using namespace tsl;

namespace {

EngineOptions sampled() {
  EngineOptions options;
  options.profile = true;
  return options;
}

}  // namespace

TEST_CASE("the interpreter's time has the function, the lines and the builtins that take it", "[profile]") {
  Session s(sampled());
  s.output(
      "fn slow_host(n) {\n  var s = 0\n  for i in 0..n {\n    s = s + i * i % 7\n  }\n  return s\n}\n"
      "fn outer(n) = slow_host(n)\nlet lines = map(str, 0..20000)\n"
      "for k in 0..10 {\n  outer(1000000)\n  lines.join(\",\").split(\",\")\n}\n");
  const std::string text = s.engine.profile_text("test.tsl", false), stacks = s.engine.folded_stacks();
  INFO(text << stacks);
  CHECK(contains(text, "host-bound at slow_host:1: in steady state "));
  CHECK(contains(text, "interpreting  test.tsl:4"));
  CHECK(contains(text, "  outer:8\n"));
  CHECK(contains(text, "split()  test.tsl:12"));
  CHECK(contains(stacks, "<main> (test.tsl:11);outer (test.tsl:8);slow_host (test.tsl:4) "));
  const nlohmann::json profile = nlohmann::json::parse(s.engine.profile_json("test.tsl"));
  double seconds = 0, interpreting = 0;
  for (const nlohmann::json& each : profile["host"]) seconds += each["seconds"].get<double>();
  for (const nlohmann::json& row : profile["rows"]) {
    if (row["activity"] == "interpreting") interpreting += row["seconds"].get<double>();
  }
  CHECK(std::abs(seconds - interpreting) < 1e-6);
}

TEST_CASE("stacks are folded with names that could end a frame or a line", "[profile]") {
  report::Profile profile{0};
  exec::Timeline timeline{profile};
  SourceMap sources;
  const uint32_t file = sources.add("a folder/x;y \n.tsl", "1");
  const report::ProfileView view{timeline, profile, sources, "", {}, false, nullptr};
  CHECK(report::frame_text(view, {.name = "f", .source = file, .declared = 1, .line = 1}) == "f (x:y :.tsl:1)");
  CHECK(report::frame_text(view, {.name = "sort", .source = file, .line = 3}) == "sort() (x:y :.tsl:3)");
  CHECK(report::frame_text(view, {.name = "sort"}) == "sort()");  // the host program calls it
}

TEST_CASE("a path of calls that are too deep ends with the innermost one", "[profile]") {
  Session s(sampled());
  s.output(
      "fn slow() {\n  var s = 0\n  for i in 0..2000000 { s += i }\n  return s\n}\n"
      "fn down(n) = if n == 0 { slow() } else { down(n - 1) + 1 }\ndown(5000)\n");
  const std::string stacks = s.engine.folded_stacks();
  size_t most = 0;
  for (size_t begin = 0, end; (end = stacks.find('\n', begin)) != stacks.npos; begin = end + 1) {
    const std::string stack = stacks.substr(begin, end - begin);
    if (contains(stack, "slow (test.tsl:3) "))
      most = 1 + static_cast<size_t>(std::count(stack.begin(), stack.end(), ';'));
  }
  INFO(stacks);
  CHECK(most == report::CallTree::kMostDepth);
}

TEST_CASE("limits end a sampled run, and its engine runs on", "[profile]") {
  const auto forever = [](RunLimits limits) {
    EngineOptions options = sampled();
    options.limits = limits;
    Session s(options);
    const std::string error = s.error_text("while true { str(1) }");
    CHECK(s.eval("1 + 1") == "2");
    return error;
  };
  CHECK(forever({.steps = 3'000'000}) == "limit: the program may take 3000000 steps, calls and iterations");
  CHECK(forever({.seconds = 0.2}) == "limit: the program may take 0.2 seconds");
}

TEST_CASE("a sample that is taken does not hide an interrupt, nor that host values take too much", "[profile]") {
  RunWatch watch;
  watch.limit_host_bytes(100);
  const RunWatch::Scope scope(watch, {});
  HostBytes bytes;
  bytes.note(1000);
  REQUIRE(watch.is_pending());
  watch.ask_sample(1);
  watch.end_sample();
  CHECK(watch.is_pending());
  CHECK_THROWS_AS(watch.check(), Failure);
  bytes.note(0);
  watch.end_sample();
  CHECK_FALSE(watch.is_pending());
  watch.interrupt();
  watch.ask_sample(1);
  watch.end_sample();
  CHECK(watch.is_pending());
  CHECK_THROWS_AS(watch.check(), Failure);
}

TEST_CASE("profiles of several engines, and one within another, sample their own", "[profile]") {
  const char* const work = "var s = 0\nfor i in 0..2000000 { s += i }\n";
  auto first = std::make_unique<Session>(sampled());
  Session second(sampled());
  first->output(work);
  CHECK(contains(first->engine.folded_stacks(), "<main> (test.tsl:2) "));
  CHECK(second.engine.folded_stacks().empty());
  first.reset();
  second.output("fn work() {\n  var s = 0\n  for i in 0..2000000 { s += i }\n}\nprofile(work, rows: 0)\nwork()\n");
  CHECK(contains(second.engine.folded_stacks(), "<main> (test.tsl:6);work (test.tsl:3) "));
}
