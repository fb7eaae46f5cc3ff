// Tests what a recording says of programs, and how it is rendered.
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/display_width.h"
#include "report/explain.h"
#include "report/page.h"
#include "support/contains.h"
#include "support/session.h"

using namespace tsl;
using namespace tsl::report;

namespace {

class Recorded : public Session {
 public:
  explicit Recorded(const std::string& program, bool compile_all = false) : Session(options(compile_all)) {
    try {
      engine.run("test.tsl", program);
    } catch (const Failure& failure) { error_message = failure.error().message; }
  }
  const report::Recording& recording() { return *engine.recording(); }
  const RegionRecord& region(const std::string& name) {
    for (const RegionRecord& each : recording().regions) {
      if (each.name == name) return each;
    }
    FAIL("no region " << name);
    return recording().regions[0];
  }
  std::string text() { return explain(recording(), {}); }

  std::string error_message;

 private:
  static EngineOptions options(bool compile_all) {
    EngineOptions out;
    out.record = true;
    out.compile_all = compile_all;
    return out;
  }
};

}  // namespace

TEST_CASE("calls that other ops make are named with their line and the reason", "[report]") {
  const std::string program =
      "@compile\nfn f(x) {\n"
      "  let y = conv(x, x)\n"
      "  return y + conv(x, x)\n}\n"
      "for i in 0..2 { f(ones([1, 1, 3])) }\n"
      "let wide = ones([1, 2, 300])\n"
      "for i in 0..3 { print(attention(wide, wide, wide).shape) }\n"
      "let g = grad(fn(x) = sum(conv_transpose(x, ones([1, 1, 1]), [3])))(ones([1, 1, 3]))\n";
  setenv("TSL_KERNELS", "conv:definition", 1);
  Recorded run(program);
  unsetenv("TSL_KERNELS");
  const std::string text = run.text(), forced = "TSL_KERNELS names another one",
                    wide = "with many columns, products with scores in memory are faster";
  INFO(text);
  const std::vector<CompositionRecord>& inside = run.region("f:2").compositions;
  REQUIRE(inside.size() == 2);
  for (size_t i = 0; i < inside.size(); ++i) {
    CHECK(to_string(inside[i].op) == (i == 0 ? "conv (test.tsl:3)" : "conv (test.tsl:4)"));
    CHECK(inside[i].reason == forced);
    CHECK(inside[i].calls == 1);
  }
  const std::vector<CompositionRecord>& outside = run.recording().compositions;
  REQUIRE(outside.size() == 2);
  CHECK(to_string(outside[0].op) == "attention (test.tsl:8)");
  CHECK(outside[0].reason == wide);
  CHECK(outside[0].calls == 3);
  CHECK(to_string(outside[1].op) == "conv (backward of test.tsl:9)");
  CHECK(contains(text, "    conv (test.tsl:3) is made of other ops, 1 time: " + forced));
  CHECK(contains(text, "  attention (test.tsl:8) is made of other ops, 3 times: " + wide));
  const auto json = nlohmann::json::parse(explain_json(run.recording()));
  CHECK(json["regions"][0]["compositions"][1]["op"]["location"]["line"] == 4);
  CHECK(json["compositions"][0]["reason"] == wide);
  Recorded usual(program);
  CHECK(usual.region("f:2").compositions.empty());
}

TEST_CASE("each host read that splits a region is named with its line and with the op it reads", "[report]") {
  Recorded run(
      "@compile\nfn f(x) {\n"
      "  let a = x * 2.0\n"
      "  if sum(a).item() > 1.0 { print(\"one\") }\n"
      "  let b = a + 1.0\n"
      "  if max(b).item() > 1.0 { print(\"two\") }\n"
      "  let c = exp(b)\n"
      "  if min(c).item() > 1.0 { print(\"three\") }\n"
      "  return c - 1.0\n}\n"
      "let y = f(ones([4]))\n");
  const RegionRecord& region = run.region("f:2");
  const std::string text = run.text();
  INFO(text);
  REQUIRE(region.segments.size() == 4);
  const char* ops[] = {"sum", "max", "min"};
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(region.segments[i].end == "host read");
    CHECK(region.segments[i].location.line == 4 + 2 * i);
    CHECK(region.segments[i].op == ops[i]);
    CHECK(region.segments[i].op_location.line == 4 + 2 * i);
  }
  CHECK(region.segments[3].end == "end");
  CHECK(contains(text,
                 "segment 1 ends with a host read: `sum(a).item()` (test.tsl:4) reads the result of sum (test.tsl:4)"));
  CHECK(contains(text, "segment 2 ends with a host read: `max(b).item()` (test.tsl:6)"));
  CHECK(contains(text, "segment 3 ends with a host read: `min(c).item()` (test.tsl:8)"));
  CHECK(contains(text, "segment 4 ends with the end of the region"));
}

TEST_CASE("changing batch sizes and learning rates compile twice, and the second reason names the variable",
          "[report]") {
  Recorded run(
      "@compile\nfn step(x, w, lr) = w - lr * mean(x, axis: 0)\n"
      "var w = ones([3])\n"
      "for i in 0..20 { w = step(ones([if i % 2 == 0 { 8 } else { 16 }, 3]), w, 0.1 / (i + 1)) }\n");
  const RegionRecord& region = run.region("step:2");
  INFO(run.text());
  REQUIRE(region.traces.size() == 2);
  CHECK(region.specialisations.size() == 2);
  CHECK(region.traces[0].reason == "first call");
  CHECK(region.traces[1].variable == "x");
  CHECK(region.traces[1].before == "f32[8, 3]");
  CHECK(region.traces[1].after == "f32[16, 3]");
  CHECK(region.traces[1].origin.line == 2);
  CHECK(contains(run.text(), "x (test.tsl:2) was f32[8, 3], is f32[16, 3]"));
  CHECK(region.specialisations[1].sizes == "x.shape[0] = 16");
  CHECK(region.replays == 18);
}

TEST_CASE("a number that shapes code is named with the line that needs it", "[report]") {
  Recorded run(
      "@compile\nfn f(x, n) {\n  let z = zeros([n])\n  return x + z\n}\nlet a = f(1.0, 3)\nlet b = f(1.0, 5)\n");
  INFO(run.text());
  const RegionRecord& region = run.region("f:2");
  for (const TraceRecord& trace : region.traces) {
    if (trace.variable.empty()) continue;
    CHECK(trace.variable == "n");
    CHECK(trace.before == "3");
    CHECK(trace.after == "5");
    CHECK(trace.needed.line > 0);
  }
  Recorded branch(
      "@compile\nfn f(x, n) {\n  if n > 3 { return x }\n  return x * 2.0\n}\nlet a = f(ones([2]), 1)\nlet b = "
      "f(ones([2]), 5)\n");
  const RegionRecord& branched = branch.region("f:2");
  REQUIRE(branched.traces.size() == 2);
  CHECK(branched.traces[1].variable == "n");
  CHECK(branched.traces[1].needed.line == 3);
  CHECK(contains(branched.traces[1].reason, "n (test.tsl:2) was 1, is 5; `n > 3` was false, is true"));
}

TEST_CASE("captured variables and variables of loops have names", "[report]") {
  Recorded captured(
      "var scale = ones([2])\n@compile\nfn f(x) = x * scale\nlet a = f(2.0)\nscale = ones([3], dtype: f64)\nlet b = "
      "f(2.0)\n");
  INFO(captured.text());
  const RegionRecord& region = captured.region("f:3");
  REQUIRE(region.traces.size() == 2);
  CHECK(region.traces[1].variable == "scale");
  CHECK(region.traces[1].origin.line == 1);
  CHECK(region.traces[1].before == "f32[2]");
  CHECK(region.traces[1].after == "f64[3]");

  Recorded loop(
      "fn run() {\n  var rows = ones([2, 2])\n  for i in 0..6 {\n    rows = if i == 3 { ones([3, 2]) } else { rows * "
      "2.0 }\n  }\n  return rows\n}\nlet y = run()\n",
      true);
  INFO(loop.text());
  bool is_named = false;
  for (const RegionRecord& each : loop.recording().regions) {
    for (const SegmentRecord& segment : each.segments) {
      for (const GuardRecord& guard : segment.guards) CHECK(guard.variable != "a value in between");
    }
    is_named = is_named || !each.segments.empty();
  }
  CHECK(is_named);
}

TEST_CASE("what is eliminated, fused and not fused is told with lines", "[report]") {
  Recorded run(
      "@compile\nfn f(x, w) {\n  let unused = exp(x)\n  let h = x @ w\n  return relu(h + 1.0) * 2.0\n}\n"
      "let y = f(ones([4, 4]), ones([4, 4]))\n");
  const std::string text = run.text();
  INFO(text);
  CHECK(contains(text, "eliminated: exp (test.tsl:3): its result is unused"));
  CHECK(contains(text, "not fused: matmul (test.tsl:4) into add (test.tsl:5): matmul has a kernel of its own"));
  const SpecialisationRecord& s = run.region("f:2").specialisations.at(0);
  CHECK(s.ops_recorded == 5);
  CHECK(s.groups.size() == 2);
  REQUIRE(s.kernels.size() == 2);
  CHECK(s.kernels[0].category == "matmul");
  CHECK(s.kernels[1].category == "pointwise");
  CHECK(contains(s.kernels[1].symbol, "k_add_relu_mul__"));
  CHECK(contains(s.kernels[1].ir, "store"));
}

TEST_CASE("what is computed again, and what would cost too much, is told with lines", "[report]") {
  Recorded run(
      "@compile\nfn f(x, y) {\n  let r = sum(square(unsqueeze(x, 1) - x), -1)\n  return sum(exp(r))\n}\n"
      "@compile\nfn g(x, y) {\n  let e = exp(x)\n  return e * y\n}\n"
      "f(ones([500, 3]), 0)\ng(ones([1000]), ones([1000, 1000]))\n");
  const std::string text = run.text();
  INFO(text);
  CHECK(contains(text, "recompute: sum (test.tsl:3): its few elements are combined by elementwise ops"));
  CHECK(
      contains(text, "recompute: square (test.tsl:3): it is computed again where it is read, which moves fewer bytes"));
  CHECK(contains(text, "recompute: exp (test.tsl:8): computing it again where it is read would take longer"));
  REQUIRE(run.region("f:2").specialisations.at(0).kernels.size() == 1);
}

TEST_CASE("constants that every run computes are told", "[report]") {
  Recorded run("@compile\nfn f(x) = (x + 1.0, zeros([1000]) + 2.0)\nlet y = f(ones([3]))\n");
  INFO(run.text());
  CHECK(contains(run.text(), "computes the same in every run"));
}

TEST_CASE("a region that falls back says why, and where", "[report]") {
  Recorded run("@compile\nfn f(x) {\n  let y = x * 2.0\n  return fn() = y\n}\nfor i in 0..5 { f(ones([3])) }\n");
  INFO(run.text());
  CHECK(contains(run.text(), "aborted: it makes a closure that outlives it"));
  const RegionRecord& region = run.region("f:2");
  CHECK(region.interpreted_calls > 0);
  CHECK(contains(tier_of(region), "interpreted"));
}

TEST_CASE("a program that fails half-way is explained up to there", "[report]") {
  Recorded run("@compile\nfn f(x) = x + 1.0\nlet y = f(ones([3]))\nlet z = ones([2]) + ones([3])\n");
  CHECK(!run.error_message.empty());
  CHECK(run.region("f:2").specialisations.size() == 1);
}

TEST_CASE("explain() tells of one function, and of the whole program", "[report]") {
  Session s;
  const std::string text = s.output(
      "@compile\nfn f(x) = x + 1.0\n@compile\nfn g(x) = x * 2.0\n"
      "let a = f(ones([3]))\nlet b = g(ones([3]))\nprint(explain(f))\nprint(\"----\")\nprint(explain())");
  INFO(text);
  const size_t cut = text.find("----");
  REQUIRE(cut != std::string::npos);
  CHECK(contains(text.substr(0, cut), "f:2#0"));
  CHECK(!contains(text.substr(0, cut), "g:4#0"));
  CHECK(contains(text.substr(cut), "f:2#0"));
  CHECK(contains(text.substr(cut), "g:4#0"));
  CHECK(contains(s.output("print(explain(sum))"), "is no region"));
}

TEST_CASE("explain() of an unused function says that nothing was compiled", "[report]") {
  Session s;
  CHECK(contains(s.output("fn f(x) = x\nprint(explain(f))"), "f: nothing was compiled"));
}

TEST_CASE("explain() of what was compiled before it recorded says so", "[report]") {
  Session s;
  const std::string text = s.output(  // a text that calls explain() by its name is recorded from its start
      "@compile\nfn f(x) = x + 1.0\nfor i in 0..20 { f(ones([3])) }\nlet tell = explain\ntell()\n"
      "for i in 0..5 { f(ones([3])) }\nprint(tell())");
  INFO(text);
  CHECK(contains(text, "not recorded: 1 trace from before; call explain() before the first calls, to record all"));
  CHECK(contains(text, "f:2: compiled, before explain() recorded; 5 of 5 runs are from plans"));
}

TEST_CASE("explain() says who has nothing compiled", "[report]") {
  const auto told = [](const auto& change) {
    EngineOptions options;
    change(options);
    Session s(options);
    return s.output("@compile\nfn f(x) = x + 1.0\nf(ones([3]))\nprint(explain())");
  };
  CHECK(contains(told([](EngineOptions& o) { o.compile_annotated = false; }), "--no-compile is given"));
  CHECK(contains(told([](EngineOptions& o) { o.check_nan = true; }), "--check-nan runs everything op by op"));
}

TEST_CASE("a recording is JSON for tools", "[report]") {
  Recorded run("@compile\nfn f(x, n) = x * n + 1.0\nlet a = f(ones([3]), 2)\nlet b = f(ones([4]), 2)\n");
  const nlohmann::json json = nlohmann::json::parse(explain_json(run.recording()));
  CHECK(json["version"] == 2);
  const auto& region = json["regions"][0];
  CHECK(region["name"] == "f:2");
  CHECK(region["traces"][1]["variable"] == "x");
  CHECK(region["specialisations"][0]["kernels"][0]["category"] == "pointwise");
  CHECK(region["specialisations"][0]["kernels"][0]["registers"].is_null());
  CHECK(region["segments"][0]["number"] == 1);
  CHECK(region["traces"][0]["segments"][0] == 1);
  CHECK(region["segments"][0]["guards"][0]["variable"] == "x");
}

TEST_CASE("the page holds the recording, and a source cannot end its element", "[report]") {
  Recorded run("# </script><script>alert(1)</script>\n@compile\nfn f(x) = x + 1.0\nlet a = f(ones([3]))\n");
  const std::string page = explain_page(run.recording());
  CHECK(page.find("@DATA@") == std::string::npos);
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(contains(page, "\\u003c/script>"));
  CHECK(contains(page, "k_add__"));
}

TEST_CASE("the region that took most time is told first, and the line of each is not endless", "[report]") {
  report::Recording recording;
  for (const char* name : {"cold:1", "hot:2"}) {
    RegionRecord& region = recording.regions.emplace_back();
    region.name = name;
    region.times.seconds = name[0] == 'h' ? 2.0 : 1.0;
    region.times.share = region.times.seconds / 4;
    region.traces.emplace_back().reason = "x was \"" + std::string(5000, 'a') + "\"";
  }
  const std::string text = explain(recording, {});
  INFO(text);
  CHECK(text.find("hot:2") < text.find("cold:1"));
  CHECK(contains(text, "; 50.0 % of the run"));
  CHECK(text.size() < 2000);
  CHECK(explain(recording, {.all = true}).size() > 10'000);
}

TEST_CASE("every line is cut to the columns of a terminal", "[report]") {
  Recorded run(
      "@compile\nfn f(x) {\n  let a = exp(x) + sin(x) * cos(x)\n  return sum(a * a + 1.0)\n}\nf(ones([3, 4]))");
  for (const bool all : {false, true}) {
    std::istringstream lines(explain(run.recording(), {.all = all, .color = true, .width = 60}));
    bool is_cut = false;
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      is_cut |= contains(line, "…");
      CHECK(cut_to_width(line, 60) == line);
    }
    CHECK(is_cut);
  }
}

TEST_CASE("a reason is about the trace that fitted best", "[report]") {
  // The call with n = 7 fits the first trace but for n; of the second already x differs.
  Recorded run(
      "@compile\nfn f(x, n) {\n  if n > 3 { return x }\n  return x * 2.0\n}\n"
      "let a = f(ones([2]), 1)\nlet b = f(ones([2, 2], dtype: f64), 1)\nlet c = f(ones([2]), 7)\n");
  const RegionRecord& region = run.region("f:2");
  REQUIRE(region.traces.size() == 3);
  CHECK(region.traces[2].variable == "n");
  CHECK(contains(region.traces[2].reason, "n (test.tsl:2) was 1, is 7"));
}

TEST_CASE("a reason names strides where they differ", "[report]") {
  Recorded run(
      "@compile\nfn f(x) = x * 2.0\nlet a = f(ones([4, 4]))\nlet b = f(transpose(ones([4, 4]))[1:3])\n"
      "let c = f(ones([5, 4]))\nlet d = f(ones([9, 8])[:6, ::2])\n");
  INFO(run.text());
  const RegionRecord& region = run.region("f:2");
  CHECK(contains(region.traces.back().reason, "with strides"));
}

TEST_CASE("guards on functions that the library uses for itself are not shown", "[report]") {
  Recorded run("import nn\n@compile\nfn f(x) = nn.layer_norm(nn.gelu(x)) + nn.elu(x)\nlet y = f(ones([2, 3]))\n");
  INFO(explain(run.recording(), {.all = true}));
  for (const SegmentRecord& segment : run.region("f:3").segments) {
    CHECK(!segment.guards.empty());
    for (const GuardRecord& guard : segment.guards) CHECK(!contains(guard.condition, "the function"));
  }
}

TEST_CASE("a function that is interpreted says why in the summary", "[report]") {
  Recorded run("@compile\nfn loss(w) = sum(w * w)\nfor i in 0..3 { grad(loss)(ones([2])) }\n");
  CHECK(contains(run.text(), "loss:2: interpreted; code that is not compiled differentiates it (test.tsl:3)"));
}
