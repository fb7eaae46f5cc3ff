// Tests the dependencies of launches: on data, on the memory that they overwrite, and on earlier failures.
#include "backend/cuda/plans/dependencies.h"

#include <algorithm>

#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::cuda;
using namespace tsl::graph;

namespace {

using Before = std::vector<std::vector<uint32_t>>;

NodeId product(Graph& g, NodeId a, NodeId b) {
  const Shape shape{g[a].shape[0], g[b].shape[1]};
  return g.add(op_def(Op::matmul), {read(g, a), read(g, b)}, {}, {DType::f32, shape}, Span{}, g.size());
}

NodeId rows_of(Graph& g, NodeId table, NodeId index) {
  Attrs attrs;
  attrs.batch = 0;
  const Shape shape{g[index].shape[0], g[table].shape[1]};
  return g.add(op_def(Op::take), {read(g, table), read(g, index)}, attrs, {DType::f32, shape}, Span{}, g.size());
}

/// Makes a plan whose kernels cannot be fused, because products separate them.
Plan plan_of(Graph g, size_t launches) {
  Plan plan = compile(std::move(g));
  REQUIRE(plan.launches.size() == launches);
  return plan;
}

}  // namespace

TEST_CASE("launches that need nothing of each other wait for nothing; others for what is nearest") {
  Graph g;
  const NodeId x = input(g, {64, 32}), w = input(g, {32, 16}), v = input(g, {32, 16}), u = input(g, {16, 16});
  const NodeId left = product(g, x, w), right = product(g, x, v), far = product(g, left, u);
  give(g, right);
  give(g, product(g, far, u));
  const Plan plan = plan_of(std::move(g), 4);
  const std::vector<LaunchUse> uses(4);
  CHECK(dependencies(plan, uses) == Before{{}, {}, {0}, {2}});
}

TEST_CASE("launches with the same workspace or scratch memory run one after the other") {
  Graph g;
  const NodeId x = input(g, {64, 32}), w = input(g, {32, 16});
  for (int i = 0; i < 4; ++i) give(g, product(g, x, i == 0 ? w : input(g, {32, 16})));
  const Plan plan = plan_of(std::move(g), 4);
  std::vector<LaunchUse> uses(4);
  for (uint32_t i = 0; i < 4; ++i) uses[i].workspace = i % 2;
  CHECK(dependencies(plan, uses) == Before{{}, {}, {0}, {1}});
  uses[0].scratch = uses[3].scratch = true;
  CHECK(dependencies(plan, uses) == Before{{}, {}, {0}, {1, 0}});
}

TEST_CASE("memory that two temporaries share in turn orders those who use them") {
  Graph g;
  const NodeId x = input(g, {32, 32}), w = input(g, {32, 32});
  NodeId chain = x;
  for (int i = 0; i < 6; ++i) chain = product(g, chain, w);
  give(g, chain);
  const Plan plan = plan_of(std::move(g), 6);
  REQUIRE(plan.arena_bytes == 2 * 32 * 32 * 4);
  CHECK(dependencies(plan, std::vector<LaunchUse>(6)) == Before{{}, {0}, {1}, {2}, {3}, {4}});
}

TEST_CASE("a buffer that aliases a temporary depends on all its readers") {
  for (const bool is_output : {true, false}) {
    Graph g;
    const NodeId x = input(g, {512, 8}), w = input(g, {8, 512}), u = input(g, {512, 4});
    const NodeId y = product(g, x, w);
    give(g, product(g, y, u));
    const NodeId e = add(g, Op::exp, {read(g, y)});
    give(g, is_output ? e : product(g, e, u));
    const Plan plan = plan_of(std::move(g), is_output ? 3 : 4);
    REQUIRE(plan.arena_bytes == (is_output ? 0 : 512 * 512 * 4));
    const Before before = dependencies(plan, std::vector<LaunchUse>(plan.launches.size()));
    CHECK(before[1] == std::vector<uint32_t>{0});
    CHECK(before[2] == std::vector<uint32_t>{1});
  }
}

TEST_CASE("what may write over an input comes after those who read it, and after all that may fail") {
  Graph g;
  const NodeId state = input(g, {32, 32}), w = input(g, {32, 16}), table = input(g, {8, 32}),
               index = input(g, {32}, DType::i64);
  const NodeId rows = rows_of(g, table, index);
  const NodeId moved = product(g, state, w), fetched = product(g, rows, w);
  give(g, moved);
  give(g, fetched);
  give(g, add(g, Op::mul, {read(g, state), number(2.0)}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.may_fail);
  std::vector<LaunchUse> uses(plan.launches.size());
  uint32_t taking = ~0u, doubling = ~0u, reading = ~0u;
  for (uint32_t i = 0; i < plan.launches.size(); ++i) {
    const Kernel& kernel = plan.kernels[plan.launches[i][0]];
    uses[i].needs_success = needs_success(plan, kernel);
    uses[i].reports = plan.graph[kernel.nodes.empty() ? kernel.op_node : kernel.nodes[0]].may_fail();
    if (uses[i].reports) taking = i;
    if (kernel.name.find("mul") != std::string::npos && kernel.kind == Template::pointwise) doubling = i;
    if (kernel.kind == Template::op && plan.graph[kernel.op_node].args[0].node == plan.graph.inputs()[0]) reading = i;
  }
  REQUIRE((taking != ~0u && doubling != ~0u && reading != ~0u));
  REQUIRE(uses[doubling].needs_success);
  CHECK_FALSE(uses[reading].needs_success);
  std::vector<uint32_t> before = dependencies(plan, uses)[doubling];
  std::sort(before.begin(), before.end());
  CHECK(before == std::vector<uint32_t>{std::min(taking, reading), std::max(taking, reading)});
}

TEST_CASE("no launch needs success in a plan that cannot fail") {
  Graph g;
  const NodeId x = input(g, {64});
  give(g, add(g, Op::mod, {read(g, x), number(2.0)}));  // of floats
  const Plan plan = compile(std::move(g));
  CHECK_FALSE(plan.may_fail);
  CHECK_FALSE(needs_success(plan, plan.kernels[0]));
}

TEST_CASE("what depends on removed launches depends on what these depend on") {
  CHECK(without({false, true, true, false}, {{}, {0}, {1}, {2}}) == Before{{}, {0}, {0}, {0}});
  CHECK(without({true, false, false}, {{}, {0}, {0, 1}}) == Before{{}, {}, {1}});
}
