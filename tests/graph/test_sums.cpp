// Checks where plans make sums over ranks: as soon as they can be made, beside what does not need them.
#include <algorithm>

#include "catch.h"
#include "graph/compile.h"
#include "graph/plan_steps.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

const Shape kSquare{64, 64};

NodeId product(Graph& g, NodeId a, NodeId b) { return add(g, Op::matmul, {read(g, a), read(g, b)}); }

/// Adds the sum of a node over ranks; `before`: the sum before it, if there is one.
NodeId sum(Graph& g, NodeId x, NodeId before = kNoNode) {
  std::vector<Arg> args = {read(g, x)};
  if (before != kNoNode) args.push_back(read(g, before));
  return add(g, Op::sum_ranks, args, {.count = 2});
}

/// Adds what a step of training does: each of three products depends on the one before; they are summed at the end.
std::vector<NodeId> add_step(Graph& g) {
  std::vector<NodeId> gradients = {product(g, input(g, kSquare), input(g, kSquare))};
  for (int i = 0; i < 2; ++i) gradients.push_back(product(g, gradients.back(), input(g, kSquare)));
  NodeId last = kNoNode;
  std::vector<NodeId> sums;
  for (const NodeId gradient : gradients) {
    const NodeId flat[] = {gradient, input(g, {64, 64})};
    Attrs attrs;
    attrs.axis = 0;
    const NodeId bucket = g.add(op_def(Op::concat), {read(g, flat[0]), read(g, flat[1])}, attrs,
                                {DType::f32, {128, 64}}, Span{}, g.size());
    sums.push_back(last = sum(g, bucket, last));
  }
  for (const NodeId each : sums) give(g, add(g, Op::exp, {read(g, each)}));
  return sums;
}

/// Returns the launches that sum, and the last one that multiplies.
std::pair<std::vector<size_t>, size_t> find(const Plan& plan) {
  std::vector<size_t> sums;
  size_t last_product = 0;
  for (size_t launch = 0; launch < plan.launches.size(); ++launch) {
    const Kernel& kernel = plan.kernels[plan.launches[launch][0]];
    if (is_of_program(plan, kernel)) sums.push_back(launch);
    if (kernel.kind == Template::op && plan.graph[kernel.op_node].op == Op::matmul) last_product = launch;
  }
  return {sums, last_product};
}

}  // namespace

TEST_CASE("sums over ranks begin as soon as their operands are there, in the order of the program") {
  Graph g;
  add_step(g);
  const Plan plan = compile(std::move(g));
  const auto [sums, last_product] = find(plan);
  REQUIRE(sums.size() == 3);
  CHECK(sums[1] < last_product);
  CHECK(last_product < sums[2]);
}

TEST_CASE("a sum over ranks takes the memory of what it adds up") {
  Graph g;
  add_step(g);
  const Plan plan = compile(std::move(g));
  for (const size_t launch : find(plan).first) {
    const Kernel& kernel = plan.kernels[plan.launches[launch][0]];
    CHECK(may_share_memory(plan, kernel.buffers.front(), kernel.buffers.back()));
  }
}

TEST_CASE("what others read is not overwritten by a sum over ranks") {
  Graph g;
  const NodeId x = product(g, input(g, kSquare), input(g, kSquare));
  const NodeId total = sum(g, x);
  give(g, add(g, Op::add, {read(g, total), read(g, x)}));
  const Plan plan = compile(std::move(g));
  const Kernel& kernel = plan.kernels[plan.launches[find(plan).first.at(0)][0]];
  CHECK_FALSE(may_share_memory(plan, kernel.buffers.front(), kernel.buffers.back()));
}

TEST_CASE("what follows the last sum over ranks shares no launch with the rest") {
  Graph g;
  add_step(g);
  const Plan plan = compile(std::move(g));
  const size_t last_sum = find(plan).first.back();
  std::vector<size_t> kernels;
  for (size_t launch = last_sum + 1; launch < plan.launches.size(); ++launch)
    kernels.push_back(plan.launches[launch].size());
  std::sort(kernels.begin(), kernels.end());
  CHECK(kernels == std::vector<size_t>{1, 2});
}

TEST_CASE("equal sums over ranks are made as often as the program says, used or not") {
  Graph g;
  const NodeId x = input(g, kSquare);
  const NodeId first = sum(g, x);
  sum(g, x, first);
  give(g, add(g, Op::exp, {read(g, first)}));
  const Plan plan = compile(std::move(g));
  CHECK(find(plan).first.size() == 2);
}
