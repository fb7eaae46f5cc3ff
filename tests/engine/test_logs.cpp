// Tests the output of --log, and that the documentation shows the same.
#include <fstream>
#include <sstream>
#include <vector>

#include "support/contains.h"
#include "support/session.h"

using namespace tsl;

namespace {

/// Returns a program's log of these topics.
std::string logged(const std::string& topics, const std::string& program) {
  EngineOptions options;
  options.log_topics = topics;
  Session s(options);
  std::string log;
  s.engine.log = [&log](std::string_view text) { log += text; };
  s.output(program);
  return log;
}

}  // namespace

TEST_CASE("nothing is logged unless it is asked for", "[logs]") {
  CHECK(logged("", "@compile\nfn f(x) = x + 1\nprint(f(ones([2])))") == "");
  CHECK(logged("nonsense", "@compile\nfn f(x) = x + 1\nprint(f(ones([2])))") == "");
  CHECK(logged("recompiles", "fn f(x) = x + 1\nprint(f(ones([2])))") == "");
}

TEST_CASE("the dumps in docs/architecture.md are what is logged", "[logs]") {
  const std::string log = logged("graph:debug,plan:debug", R"(
@compile
fn f(x) = softmax(x)
let y = f(randn([4096, 1024]))
@compile
fn step(u) {
  var v = u
  v[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
  return v
}
let z = step(randn([512, 512])))");
  std::ifstream page(std::string(TSL_SOURCE_DIR) + "/docs/architecture.md");
  std::string line;
  bool is_code = false;
  size_t checked = 0;
  INFO(log);
  while (std::getline(page, line) && line.find("## The executor") == std::string::npos) {
    if (line.rfind("```", 0) == 0) is_code = !is_code;
    const size_t begin = line.find_first_not_of(' ');
    const bool is_dump = is_code && begin != std::string::npos &&
                         (line[begin] == '%' || line[begin] == 'r' || line.compare(begin, 5, "store") == 0);
    if (!is_dump) continue;
    INFO(line);
    CHECK(contains(log, line.substr(begin)));
    ++checked;
  }
  CHECK(checked > 10);
  CHECK(contains(log, ": 1 kernels in 1 launches, 2 buffers, arena 0 bytes"));
}

TEST_CASE("a graph's nodes, and those without a use, are named with their lines", "[logs]") {
  const std::string log =
      logged("graph:debug", "@compile\nfn f(x) {\n  let unused = exp(x)\n  return x * 2.0\n}\nlet y = f(ones([3]))");
  INFO(log);
  CHECK(contains(log, "mul(%0, 2) : f32[3]  # test.tsl:4"));
  CHECK(contains(log, "[graph] f:2#0: eliminated exp at test.tsl:3: its result is unused"));
}

TEST_CASE("groups are told with their ops", "[logs]") {
  const std::string log =
      logged("fusion:debug",
             "@compile\nfn f(x) {\n  let y = x + 1.0\n  return (sum(y * y), x @ x)\n}\nlet y = f(ones([3, 3]))");
  INFO(log);
  CHECK(contains(log, "[fusion] "));
  CHECK(contains(log, "add(test.tsl:3)"));
  CHECK(contains(log, "  op [3, 3]: matmul(test.tsl:4)"));
}

TEST_CASE("plans show every kind of instruction", "[logs]") {
  const std::string gather =
      logged("plan:debug", "@compile\nfn f(table, i) = table[i] * 2.0\nlet y = f(ones([10, 4]), tensor([1, 2]))");
  INFO(gather);
  CHECK(contains(gather, "gather b"));
  CHECK(contains(gather, "pointwise "));
  const std::string random = logged("plan:debug", "@compile\nfn f(n) = randn([1000]) * n\nlet y = f(2.5)");
  INFO(random);
  CHECK(contains(random, " = random_normal(s"));
  const std::string table = logged("plan:debug",
                                   "@compile\nfn f(p, g) = tree_map(fn(p, g) = p - 0.1 * g, p, g)\n"
                                   "let p = [ones([4]), ones([4]), ones([4])]\nlet q = f(p, p)");
  INFO(table);
  CHECK(contains(table, "multi-tensor launch of 3: pointwise "));
}

TEST_CASE("guards and recompilations give their reasons", "[logs]") {
  const std::string program =
      "@compile\nfn f(x, n, g) {\n  if n > 2 { return x * n }\n  return g(x)\n}\n"
      "fn one(x) = x + 1\nfn two(x) = x + 2\n"
      "let a = f(ones([3]), 1, one)\nlet b = f(ones([3]), 5, one)\nlet c = f(ones([3]), 1, two)\n"
      "let d = f(ones([3, 1], dtype: f64), 1, one)\nlet e = f(1.5, 1, one)\n";
  const std::string guards = logged("guards:debug", program);
  INFO(guards);
  CHECK(contains(guards, "[guards] f (test.tsl:2): x (test.tsl:2) is tensor f32[3]"));
  CHECK(contains(guards, ", about 6 ns\n"));
  CHECK(contains(guards, "f (test.tsl:2): g (test.tsl:2) is the function one, about 7 ns\n"));
  CHECK(contains(guards, "f (test.tsl:2): `n > 2` is false: branch (test.tsl:3), about 12 ns\n"));
  const std::string recompiles = logged("recompiles", program);
  INFO(recompiles);
  CHECK(contains(recompiles, "[recompiles] f (test.tsl:2): first call\n"));
  CHECK(contains(recompiles,
                 "[recompiles] f (test.tsl:2): n (test.tsl:2) was 1, is 5; `n > 2` was false, is true "
                 "(test.tsl:3)\n"));
  CHECK(contains(recompiles, "g (test.tsl:2) was the function one, is the function two"));
  CHECK(contains(recompiles, "x (test.tsl:2) was f32[3], is f64[3, 1]"));
  CHECK(contains(recompiles, "x (test.tsl:2) was f64[3, 1], is the float 1.5"));
}

TEST_CASE("what makes a region be interpreted is told", "[logs]") {
  const std::string log = logged("recompiles",
                                 "@compile\nfn f(x) { let y = x * 2.0; return fn() = y }\n"
                                 "for i in 0..40 { f(ones([3])) }");
  CHECK(contains(
      log,
      "[recompiles] f (test.tsl:2) falls back to the interpreter for 32 calls: it makes a closure that outlives it\n"));
  CHECK(contains(log, "[recompiles] f (test.tsl:2): it is tried again\n"));
}

TEST_CASE("bytecode is shown with its registers, constants, handlers and loops", "[logs]") {
  const std::string log = logged("bytecode:debug",
                                 "fn f(n) {\n  var sum = 0.5\n  for i in 0..n { sum += i }\n  try { sum.x = \"text\" } "
                                 "catch e { return nil }\n  return sum\n}");
  INFO(log);
  CHECK(contains(log, "f (test.tsl:1), "));
  CHECK(contains(log, "(0.5)"));
  CHECK(contains(log, "(\"text\")"));
  CHECK(contains(log, "  try "));
  CHECK(contains(log, "error in r"));
  CHECK(contains(log, "  loop "));
  CHECK(contains(log, ", exits"));
}

TEST_CASE("at level info an event is a line, at debug it has its whole text, each line with its specialisation",
          "[logs]") {
  const std::string program =
      "@compile\nfn f(x, n) {\n  let y = exp(x) + n\n  if float(sum(y)) > 0.0 { return y * y }\n  return y\n}\n"
      "let y = f(ones([3]), 2)\nlet z = f(ones([4]), 2)\nlet w = f(ones([5]), 2)";
  const auto lines = [&](const std::string& topics) {
    std::istringstream text(logged(topics, program));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  };
  for (const std::string topic : {"graph", "fusion", "plan", "code", "recompiles", "guards"}) {
    const std::vector<std::string> info = lines(topic), debug = lines(topic + ":debug");
    INFO(fmt::format("{}", fmt::join(debug, "\n")));
    CHECK(info.size() >= 2);
    CHECK(debug.size() > info.size());
    CHECK(lines(topic + ":info") == info);
    CHECK(lines(topic + ":debug," + topic + ":off").empty());
    const bool is_of_regions = topic == "guards" || topic == "recompiles";
    for (const std::string& line : info) CHECK(std::count(debug.begin(), debug.end(), line) >= 1);
    for (const std::string& line : debug)
      CHECK((line.find("[" + topic + "] f:2#") == 0 || (is_of_regions && line.find("[" + topic + "] f (") == 0)));
  }
  CHECK(lines("graph")[0] == "[graph] f:2#0: 3 ops, 1 inputs, 2 outputs");
  CHECK(contains(lines("code")[0], "[code] f:2#0: k_"));
  CHECK(contains(logged("code:debug", program), "= exp(r"));
  CHECK(contains(logged("recompiles:debug", program), "a plan is made, for x.shape[0] = 4"));
  CHECK(contains(logged("perf", program), "[perf] f (test.tsl:2): compiled code ends for: host read, `float(sum(y))`"));
  const std::string all = logged("all", program);
  for (const char* topic : {"[graph] ", "[plan] ", "[perf] ", "[bytecode] "}) CHECK(contains(all, topic));
}
