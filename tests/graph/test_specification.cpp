// Every rule of the specification has an example that violates it, and the error names the rule.
#include <algorithm>
#include <set>

#include "catch.h"
#include "graph/compile.h"
#include "graph/spec.h"
#include "spec_cases.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Returns the rule that an example violates, or "".
std::string broken_rule(const SpecCase& example) {
  try {
    example.verify();
  } catch (const BrokenRule& error) {
    CHECK(std::string(error.what()).find(error.rule()) != std::string::npos);
    return error.rule();
  }
  return "";
}

std::vector<SpecCase> all_cases() {
  std::vector<SpecCase> cases;
  add_graph_cases(cases);
  add_kernel_cases(cases);
  add_plan_cases(cases);
  return cases;
}

}  // namespace

TEST_CASE("what breaks a rule is reported by the rule's sentence", "[specification]") {
  for (const SpecCase& example : all_cases()) CHECK(broken_rule(example) == example.rule);
}

TEST_CASE("every rule has an example that breaks it", "[specification]") {
  std::set<std::string> broken;
  for (const SpecCase& example : all_cases()) broken.insert(example.rule);
  std::set<std::string> sentences;
  for (const char* sentence : specification()) {
    CHECK(sentences.insert(sentence).second);  // no two rules are equal
    INFO(sentence);
    CHECK(broken.contains(sentence));
  }
  CHECK(sentences.size() >= 80);
}

TEST_CASE("a broken rule is reported with the pass and what breaks it", "[specification]") {
  Graph g;
  const NodeId x = input(g, {4}), y = input(g, {2});
  g.add(op_def(Op::add), {read(g, x), read(g, y)}, {}, {DType::f32, {4}}, Span{}, 0);
  REQUIRE_THROWS_WITH(compile(std::move(g)),
                      "after recording: broken rule: An elementwise op reads tensors of its own shape: broadcasts are "
                      "layouts.\n  %2 = add(%0, %1) : f32[4]\nof the graph\n  %0 = input() : f32[4]\n  %1 = input() : "
                      "f32[2]\n  %2 = add(%0, %1) : f32[4]\n  return \n");
}

TEST_CASE("the checks of compile can be switched off", "[specification]") {
  const auto compiles = [] {
    Graph g;
    const NodeId x = input(g, {4});
    const NodeId y = add(g, Op::exp, {read(g, x)});
    g[y].span = {0, 5, 3};
    give(g, y);
    return compile(std::move(g)).kernels.size() == 1;
  };
  CHECK(enforces_specification());  // in all tests
  CHECK_THROWS_AS(compiles(), BrokenRule);
  enforce_specification(false);
  CHECK(compiles());
  enforce_specification(true);
}
