// Tests profiles: that each moment counts once, and what the tables say about programs.
#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include <nlohmann/json.hpp>

#include "profile/profile.h"
#include "profile/profile_table.h"
#include "support/contains.h"
#include "support/session.h"

using namespace tsl;
using exec::ActivityKind;
using exec::Timeline;
using report::Profile;
using report::ProfileRow;

namespace {

/// A timeline whose marks and device works are given by hand.
struct HandMade {
  Profile profile{100};
  Timeline timeline{profile};
  const uint64_t begin = timeline.begin_ticks();
  std::vector<Timeline::Mark> marks;
  std::vector<Timeline::DeviceWork> work;

  Timeline::Id kernel(const std::string& name) { return timeline.add({.kind = ActivityKind::kernel, .name = name}); }
  void mark(uint64_t at, Timeline::Id id) { marks.push_back({begin + at, id, 0}); }
  void run(Timeline::Id id, uint64_t from, uint64_t to) { work.push_back({begin + from, begin + to, id, 0}); }
  void read() { profile.read(timeline, marks, work); }
  const ProfileRow& row(Timeline::Id id) const {
    for (const ProfileRow& each : profile.rows()) {
      if (each.id == id) return each;
    }
    FAIL("no row");
    return profile.rows()[0];
  }
  double sum() const {
    return std::accumulate(profile.rows().begin(), profile.rows().end(), 0.0,
                           [](double all, const ProfileRow& each) { return all + each.share_ticks; });
  }
};

EngineOptions profiled(bool compile_all = false) {
  EngineOptions options;
  options.profile = true;
  options.compile_all = compile_all;
  return options;
}

}  // namespace

TEST_CASE("a moment of nested scopes belongs to the innermost", "[profile]") {
  HandMade t;
  const Timeline::Id inner = t.kernel("k");
  t.mark(10, t.timeline.of(ActivityKind::replay));
  t.mark(20, inner);
  t.mark(50, Timeline::kEnd);
  t.mark(60, Timeline::kEnd);
  t.read();
  CHECK(t.row(inner).ticks == 30);
  CHECK(t.row(inner).share_ticks == 30);
  CHECK(t.row(t.timeline.of(ActivityKind::replay)).share_ticks == 20);
  REQUIRE_FALSE(t.profile.scopes().empty());
  CHECK(t.profile.scopes()[0].first_ticks == 50);
  CHECK(t.sum() == static_cast<double>(t.profile.end_ticks() - t.profile.begin_ticks()));
}

TEST_CASE("while a device computes, time is its kernels' and not the host's", "[profile]") {
  HandMade t;
  const Timeline::Id a = t.kernel("a"), b = t.kernel("b");
  t.mark(0, t.timeline.of(ActivityKind::launch));
  t.mark(5, Timeline::kEnd);
  t.run(a, 10, 40);
  t.run(b, 30, 60);  // 10 ticks of these at the same time as a
  t.read();
  CHECK(t.row(a).ticks == 30);
  CHECK(t.row(b).ticks == 30);
  CHECK(t.row(a).share_ticks == 25);
  CHECK(t.row(b).share_ticks == 25);
  CHECK(t.row(t.timeline.of(ActivityKind::launch)).share_ticks == 5);
  CHECK(t.sum() == static_cast<double>(t.profile.end_ticks() - t.profile.begin_ticks()));
}

TEST_CASE("the end of a scope that began before the profile is ignored", "[profile]") {
  HandMade t;
  t.mark(5, Timeline::kEnd);
  t.mark(6, t.timeline.of(ActivityKind::trace));
  t.mark(9, Timeline::kEnd);
  t.read();
  CHECK(t.row(t.timeline.of(ActivityKind::trace)).ticks == 3);
}

TEST_CASE("the fused kernel of a * b + c is one row with its line", "[profile]") {
  Session s(profiled());
  s.output("@compile\nfn f(a, b, c) = a * b + c\nlet x = ones([300, 300])\nfor i in 0..5 { f(x, x, x) }\n");
  const std::string text = s.engine.profile_text("test.tsl", false);
  INFO(text);
  CHECK(contains(text, "k_mul_add__"));
  CHECK(contains(text, "pointwise  f32[300, 300]"));
  CHECK(contains(text, "test.tsl:2"));
  CHECK(contains(text, "100.00 %"));
  CHECK(contains(text, "f:2"));
  CHECK(contains(text, "5 calls: first "));
}

TEST_CASE("a result that nothing uses is named with its line", "[profile]") {
  Session s(profiled());
  s.output(
      "@compile\nfn f(a, b, c) {\n  let d = a * b + c\n}\nlet x = 1.0\nf(tensor([1.0]), tensor([2.0]), "
      "tensor([3.0]))\n");
  const std::string text = s.engine.profile_text("test.tsl", false);
  INFO(text);
  CHECK(contains(text, "f:2#0 launches 0 kernels: the result of test.tsl:3 (mul, add) is unused"));
}

TEST_CASE("backward passes are told apart, on the lines of what they differentiate", "[profile]") {
  for (const bool compile_all : {false, true}) {
    Session s(profiled(compile_all));
    s.output(
        "fn loss(w, x) {\n  let y = x @ w\n  return sum(y * y)\n}\n"
        "let w = ones([64, 64])\nlet x = ones([32, 64])\nfor i in 0..3 { print(sum(grad(loss)(w, x))) }\n");
    const std::string text = s.engine.profile_text("test.tsl", false);
    INFO(text);
    CHECK(contains(text, "test.tsl:2           backward let y = x @ w"));
    CHECK(contains(text, "% in backward passes"));
  }
}

TEST_CASE("shares sum to the whole, and kernels have lines, in every tier", "[profile]") {
  const std::string program =
      "import nn\nfn loss(p, x) = mean(square(nn.relu(x @ p.w + p.b)))\n"
      "var p = {w: randn([100, 50]), b: zeros([50])}\nlet x = randn([20, 100])\n"
      "for i in 0..20 {\n  let g = grad(loss)(p, x)\n  p = tree_map(fn(p, g) = p - 0.1 * g, p, g)\n}\nprint(loss(p, "
      "x))\n";
  for (const bool compile_all : {false, true}) {
    Session s(profiled(compile_all));
    s.output(program);
    const std::string text = s.engine.profile_text("test.tsl", false);
    INFO(text);
    CHECK(contains(text, " 100.00 % "));
    CHECK_FALSE(contains(text, "without a line"));
  }
}

TEST_CASE("timings name the phases and the specialisations", "[profile]") {
  Session s(profiled());
  s.output("@compile\nfn f(a) = exp(a) + 1.0\nprint(f(ones([10])).shape, sum(ones([3])))\n");
  const std::string text = s.engine.timings_text("test.tsl");
  INFO(text);
  for (const char* part : {"parsing", "tracing", "fuse\n", "prepare for the device", "f:2#0\n", "eager ops\n"})
    CHECK(contains(text, part));
}

TEST_CASE("profile(f) logs a table and returns what f returns", "[profile]") {
  EngineOptions options;
  Session s(options);
  std::string log;
  s.engine.log = [&log](std::string_view text) { log += text; };
  CHECK(s.eval("let x = ones([50])\nfn work() = with_range(\"summing\", fn() = sum(x + 1.0).item())\nprofile(work)") ==
        "100.0");
  INFO(log);
  CHECK(contains(log, "profile of work:2: "));
  CHECK(contains(log, "k_add__"));
  CHECK(contains(log, "summing"));
  log.clear();
  s.output("let y = profile(fn() = exp(1.0))\n");
  CHECK(contains(log, "profile of <lambda>:1: "));
  CHECK(s.eval("1 + 1") == "2");
}

TEST_CASE("profile(f) of an f that fails logs what there was", "[profile]") {
  Session s;
  std::string log;
  s.engine.log = [&log](std::string_view text) { log += text; };
  s.engine.show_warning = [](const Error&) {};
  const std::string fails = "fn fails() {\n  let x = exp(ones([3]))\n  error(\"oh\")\n}\n";
  CHECK(s.output(fails + "try { profile(fails) } catch e { print(e.message) }") == "oh\n");
  CHECK(contains(log, "k_exp__"));
}

TEST_CASE("what runs in profile(f) is one row of the profile around it", "[profile]") {
  Session s(profiled());
  s.engine.log = [](std::string_view) {};
  s.output("fn work() = sum(ones([50])).item()\nlet x = profile(work)\n");
  const std::string text = s.engine.profile_text("test.tsl", false);
  INFO(text);
  CHECK(contains(text, "in named ranges profile(work:1)"));
}

TEST_CASE("a long line of the program ends in a whole character", "[profile]") {
  std::string line = "let é = exp(ones([3]))  # ";
  while (line.size() < 200) line += "é";
  for (const char* indent : {"", ";"}) {
    Session s(profiled());
    s.output(indent + line + "\n");
    const std::string text = s.engine.profile_text("test.tsl", false);
    const size_t at = text.find("é\n");
    CHECK(at != std::string::npos);
  }
}

TEST_CASE("a trace is JSON with the kernels and their lines", "[profile]") {
  EngineOptions options = profiled();
  options.trace_events = 1000;
  Session s(options);
  s.output("@compile\nfn f(a) = exp(a) + 1.0\nfor i in 0..3 { f(ones([10])) }\n");
  const std::string path = "test_profile_trace.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  size_t kernels = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (!contains(event.value("name", ""), "k_exp_add__")) continue;
    ++kernels;
    CHECK(event["args"]["lines"] == "test.tsl:2");
    CHECK(event["args"]["specialisation"] == "f:2#0");
  }
  CHECK(kernels == 3);
  std::remove(path.c_str());
}

TEST_CASE("a trace over its limit is cut, and says so", "[profile]") {
  EngineOptions options = profiled();
  options.trace_events = 10;
  Session s(options);
  s.output("for i in 0..30 { exp(ones([10])) }\n");
  const std::string path = "test_profile_cut.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  CHECK(contains(text.str(), "the trace is cut here"));
  CHECK(nlohmann::json::parse(text.str())["traceEvents"].size() < 20);
  std::remove(path.c_str());
}

TEST_CASE("a trace that cannot be written is an error", "[profile]") {
  EngineOptions options = profiled();
  options.trace_events = 10;
  Session s(options);
  CHECK_THROWS_AS(s.engine.write_trace("/nowhere/trace.json"), Failure);
}

TEST_CASE("a range inside compiled code is measured whenever its kernels run", "[profile]") {
  EngineOptions options;
  options.profile = true;
  Session s(options);
  s.output(
      "let w = ones([64, 64])\n"
      "fn layer(x) = with_range(\"attention\", fn() = x @ w) + with_range(\"mlp\", fn() = relu(x) * 2.0)\n"
      "@compile\nfn step(x) {\n  var y = x\n  for i in 0..3 { y = layer(y) }\n  return y\n}\n"
      "for i in 0..20 { with_range(\"train\", fn() = step(ones([64, 64]))) }\n");
  const std::string text = s.engine.profile_text("test.tsl", false, {.rows = report::TableOptions::kAllRows});
  INFO(text);
  const size_t ranges = text.find("\nby call path and named range");
  REQUIRE(ranges != std::string::npos);
  // The same line, told apart by the calls that led to it.
  for (const char* path : {"train ", "train.step ", "train.step.layer[0] ", "train.step.layer[2].mlp "})
    CHECK(text.find(path, ranges) != std::string::npos);
  const size_t last = text.find("train.step.layer[2].attention ", ranges);
  REQUIRE(last != std::string::npos);
  CHECK(text.substr(last, text.find('\n', last) - last).find(" 20 runs, 20 launches") != std::string::npos);
  CHECK(text.find("in train.step.layer[0].attention") < ranges);  // the rows of the table say so, too
  CHECK(text.find("in train.step.layer[1].attention") < ranges);
  CHECK(text.find("in train.step.layer[1].attention") < ranges);
}

TEST_CASE("the ranges of a program are bounded, however it calls", "[profile]") {
  EngineOptions options;
  options.profile = true;
  Session s(options);
  s.output(
      "fn deep(x, n) = if n == 0 { x + 1.0 } else { deep(x, n - 1) }\n"
      "let a = deep(ones([3]), 500)\n"
      "for i in 0..20000 { with_range(f\"step {i}\", fn() = a * 2.0) }\n");
  CHECK(s.engine.sources().ranges().path(1).size() < 100);
  const std::string text = s.engine.profile_text("test.tsl", false);
  CHECK(std::count(text.begin(), text.end(), '\n') < 200);
}

// ---- Tables ------------------------------------------------------------------------------------------------------

namespace {

/// Returns the first table of a profile: its lines between the heading and the sum.
std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> rows;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && !contains(line, "kernel or activity")) {}
  while (std::getline(lines, line) && !line.empty()) rows.push_back(line);
  if (!rows.empty()) rows.pop_back();
  return rows;
}

constexpr const char* kThreeKernels =
    "let x = ones([100])\nlet m = ones([20, 20])\nfor i in 0..30 { let y = exp(x) }\nfor i in 0..20 { let y = exp(m) "
    "}\n"
    "for i in 0..10 { let y = sin(x) }\n";

std::string table_of(const std::string& program, const report::TableOptions& options) {
  Session s(profiled());
  s.output(program);
  return s.engine.profile_text("test.tsl", false, options);
}

}  // namespace

TEST_CASE("a sample of many numbers keeps their median", "[profile]") {
  report::Sample sample;
  CHECK(sample.median() == 0);
  for (uint64_t i = 1; i <= 101; ++i) sample.add(i);
  CHECK(sample.median() == 51);
  report::Sample pair;
  for (const uint64_t number : {40, 20}) pair.add(number);
  CHECK(pair.median() == 30);
  for (uint64_t i = 102; i <= 100'001; ++i) sample.add(i);
  CHECK(static_cast<double>(sample.median()) == Approx(50'000).epsilon(0.01));
  report::Sample other;
  for (int i = 0; i < 1'000'000; ++i) other.add(7);
  sample.add(other);
  CHECK(sample.median() == 7);
}

TEST_CASE("rows have the median, the least and the most of a kernel's calls", "[profile]") {
  HandMade t;
  const Timeline::Id a = t.kernel("a");
  for (const uint64_t took : {30, 10, 20}) {
    t.mark(100 + 100 * took, a);
    t.mark(100 + 100 * took + took, Timeline::kEnd);
  }
  std::sort(t.marks.begin(), t.marks.end(), [](const auto& x, const auto& y) { return x.ticks < y.ticks; });
  t.read();
  CHECK(t.row(a).sample.median() == 20);
  CHECK(t.row(a).least_ticks == 10);
  CHECK(t.row(a).most_ticks == 30);
  const std::string text = table_of(kThreeKernels, {});
  for (const char* heading : {"median", "least", "most"}) CHECK(contains(text, heading));
}

TEST_CASE("rows are ordered, limited and grouped as asked", "[profile]") {
  using report::RowGroups;
  using report::RowOrder;
  const std::vector<std::string> by_calls = rows_of(table_of(kThreeKernels, {.order = RowOrder::calls}));
  REQUIRE(by_calls.size() > 3);
  CHECK(contains(by_calls[0], "f32[100]"));
  CHECK(contains(by_calls[0], " 30 "));
  CHECK(contains(by_calls[1], "f32[20, 20]"));
  CHECK(contains(by_calls[2], "k_sin"));
  const std::string kernels =
      table_of(kThreeKernels, {.order = RowOrder::calls, .groups = RowGroups::kernel, .rows = 1});
  const std::vector<std::string> one = rows_of(kernels);
  INFO(kernels);
  REQUIRE(one.size() == 2);
  CHECK(contains(one[0], "k_exp"));
  CHECK(contains(one[0], " 50 "));
  CHECK_FALSE(contains(one[0], "f32["));
  CHECK(contains(one[1], "more rows"));
  CHECK(contains(kernels, " 100.00 % "));
  const std::string shapes = table_of("let x = ones([9])\nlet y = exp(x)\nlet z = exp(x)\nlet v = exp(ones([3, 3]))\n",
                                      {.groups = RowGroups::shape});
  size_t vectors = 0;
  for (const std::string& row : rows_of(shapes)) {
    if (!contains(row, "k_exp") || !contains(row, "f32[9] -> f32[9]")) continue;
    ++vectors;
    CHECK(contains(row, " 2 "));
  }
  CHECK(vectors == 1);
}

TEST_CASE("rows of lines and of categories sum up the kernels in them", "[profile]") {
  const std::vector<std::string> lines =
      rows_of(table_of(kThreeKernels, {.order = report::RowOrder::name, .groups = report::RowGroups::line}));
  const auto row_with = [](const std::vector<std::string>& rows, const std::string& part) {
    for (const std::string& row : rows) {
      if (contains(row, part)) return row;
    }
    return std::string();
  };
  CHECK(contains(row_with(lines, "test.tsl:3  for i in 0..30"), " 30 "));
  CHECK(contains(row_with(lines, "test.tsl:5  for i in 0..10"), " 10 "));
  CHECK(row_with(lines, "k_exp").empty());
  const std::vector<std::string> categories = rows_of(table_of(kThreeKernels, {.groups = report::RowGroups::category}));
  CHECK(contains(row_with(categories, "pointwise"), " 60 "));
}

TEST_CASE("lines of tables fit the width, with fewer columns where it is small", "[profile]") {
  for (const size_t width : {60, 80, 100, 130}) {
    const std::string text = table_of(kThreeKernels, {.width = width});
    const std::string tables = text.substr(0, text.find("\nin words"));
    INFO(text);
    std::istringstream lines(tables.substr(0, tables.find("\nmemory")));
    for (std::string line; std::getline(lines, line);) {
      const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      CHECK(static_cast<size_t>(characters) <= width);
    }
    CHECK(contains(text, "k_exp"));
    CHECK(contains(text, "GB/s") == (width >= 100));
  }
}

// ---- profile(f, …) -----------------------------------------------------------------------------------------------

TEST_CASE("profile(f, steps: n) returns its table as data, with the last result", "[profile]") {
  Session s;
  std::string log;
  s.engine.log = [&log](std::string_view text) { log += text; };
  s.output(
      "let x = ones([50])\nvar calls = 0\nfn work() {\n  calls += 1\n  let y = exp(x)\n  return calls + 0.0 * y[0]\n}\n"
      "let p = profile(work, name: \"training\", sort: \"calls\", rows: 3, warmup: 2, steps: 4)\n"
      "assert(calls == 6)\nassert(p.result.item() == 6.0)\nassert(p.title == \"training\")\n"
      "assert(p.seconds > 0.0)\nassert(p.regions[0].name == \"training\")\nassert(p.regions[0].calls == 4)\n"
      "var found = 0\nfor row in p.rows {\n"
      "  if row.name.startswith(\"k_exp\") {\n    found += 1\n    assert(row.calls == 4)\n"
      "    assert(row.category == \"pointwise\")\n    assert(row.bytes == 400)\n  }\n}\nassert(found == 1)\n");
  INFO(log);
  CHECK(contains(log, "profile of training"));
  CHECK(contains(log, "more rows"));
}

TEST_CASE("profile(f, rows: 0) logs nothing", "[profile]") {
  Session s;
  std::string log;
  s.engine.log = [&log](std::string_view text) { log += text; };
  CHECK(s.eval("profile(fn() = 3, rows: 0)") == "3");
  CHECK(log.empty());
}

TEST_CASE("profile(f, to: file) writes the trace of what f does, and nothing before it", "[profile]") {
  Session s;
  s.engine.log = [](std::string_view) {};
  const std::string path = "test_profile_section.json";
  s.output("let x = ones([50])\nlet a = sin(x)\nlet b = profile(fn() = exp(x), to: \"" + path + "\")\n");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::remove(path.c_str());
  CHECK(contains(text.str(), "k_exp"));
  CHECK_FALSE(contains(text.str(), "k_sin"));
  CHECK(nlohmann::json::parse(text.str())["traceEvents"].size() > 2);
}

TEST_CASE("profile(f, to: file) does not call f if the file cannot be written", "[profile]") {
  Session s;
  s.engine.log = [](std::string_view) {};
  CHECK(s.output("var calls = 0\nfn f() { calls += 1 }\n"
                 "try { profile(f, to: \"/nowhere/trace.json\") } catch e { print(e.kind) }\nprint(calls)\n") ==
        "io\n0\n");
}

TEST_CASE("profile() needs the permissions of what it gives, and names that it knows", "[profile]") {
  EngineOptions options;
  options.permissions.files = options.permissions.clock = false;
  Session s(options);
  s.engine.log = [](std::string_view) {};
  const auto error = [&s](const std::string& code) {
    try {
      s.eval(code);
    } catch (const Failure& failure) { return failure.error().message; }
    return std::string();
  };
  CHECK(s.eval("profile(fn() = 3)") == "3");
  CHECK(contains(error("profile(fn() = 3, to: \"x.json\")"), "files"));
  CHECK(contains(error("profile(fn() = 3, steps: 2)"), "clock"));
  CHECK(error("profile(fn() = 3, sort: \"size\")") ==
        "profile: sort is one of time, calls, median, least, most, name, not 'size'");
  CHECK(contains(error("profile(fn() = 3, group: \"size\")"), "launch, kernel, shape, line, range, category"));
  CHECK_FALSE(error("profile(fn() = 3, rows: -1)").empty());
}

TEST_CASE("a sample counts for what the host does at its moment, and not while a device computes", "[profile]") {
  HandMade t;
  const Timeline::Id kernel = t.kernel("k"), host = t.timeline.of(ActivityKind::interpret);
  t.mark(10, t.timeline.of(ActivityKind::replay));
  t.mark(20, Timeline::kEnd);
  t.run(kernel, 30, 40);
  t.mark(50, t.timeline.of(ActivityKind::output));
  for (const uint64_t at : {5, 15, 25, 35, 45}) t.timeline.add_sample({t.begin + at, 7, 2});
  t.read();
  CHECK(t.profile.samples().at({host, 7}) == 6);
  CHECK(t.profile.samples().at({t.timeline.of(ActivityKind::replay), 7}) == 2);
}
