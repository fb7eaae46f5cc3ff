// Tests the cost model: what it counts of memory and ops, for fused graphs and for kernels alike.
#include "graph/cost.h"

#include "catch.h"
#include "graph/compile.h"
#include "graph/kernel_facts.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Describes the access of loops, the outermost one first.
Access access_of(const std::vector<std::pair<int64_t, int64_t>>& loops) {
  Access access;
  for (size_t i = loops.size(); i-- > 0;) access.add_loop(loops[i].first, loops[i].second);
  return access;
}

KernelFacts facts_of_only_kernel(Graph g) {
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  return facts_of(plan, plan.launches[0]);
}

}  // namespace

TEST_CASE("an access has as many runs as pieces of memory that are in order") {
  CHECK(access_of({{4, 6}, {6, 1}}).runs() == 1);
  CHECK(access_of({{4, 8}, {6, 1}}).runs() == 4);           // rows of a slice
  CHECK(access_of({{3, 24}, {4, 6}, {6, 1}}).runs() == 1);  // three loops over one piece
  CHECK(access_of({{4, 1}, {6, 0}}).runs() == 4);           // a number for each row
  CHECK(access_of({{4, 6}, {1, 99}, {6, 1}}).runs() == 1);  // a loop of one turn
}

TEST_CASE("an access counts the lines of a cache between its elements, and broadcast ones once") {
  CHECK(access_of({{4, 6}, {6, 1}}).elements() == 24);
  CHECK(access_of({{4, 1}, {6, 0}}).elements() == 4);
  CHECK(access_of({{4, 48}, {6, 2}}).elements() == 48);
  CHECK(access_of({{1000, 1000}}).elements() == 8000);
  CHECK(access_of({{4, 1}, {6, 4}}).is_strided());
  CHECK_FALSE(access_of({{4, 0}, {6, 1}}).is_strided());
}

TEST_CASE("an op's operations depend on its dtypes") {
  CHECK(operations_of(Op::add, DType::f32, DType::f32) == 1);
  CHECK(operations_of(Op::copy, DType::f32, DType::f32) == 0);
  CHECK(operations_of(Op::cast, DType::f16, DType::f32) == 0);
  CHECK(operations_of(Op::cast, DType::f32, DType::f16) > 1);
  CHECK(operations_of(Op::gelu, DType::f32, DType::f32) > operations_of(Op::exp, DType::f32, DType::f32));
  CHECK(operations_of(Op::exp, DType::f64, DType::f64) > 10 * operations_of(Op::exp, DType::f32, DType::f32));
}

TEST_CASE("a kernel's work is what the fused graph counts") {
  Graph g;
  const NodeId x = input(g, {1000, 300});
  give(g, add(g, Op::mul, {read(g, add(g, Op::exp, {read(g, x)})), read(g, x)}));
  const Rates rates;
  const double of_graph = seconds_of(g, fuse(g, false, {}, std::pmr::get_default_resource()), rates);
  const Work work = facts_of_only_kernel(std::move(g)).work;
  CHECK(work.bytes == 2 * 4 * 300000);
  CHECK(work.operations == 300000 * (1 + operations_of(Op::exp, DType::f32, DType::f32)));
  CHECK(seconds_of(work, rates) == of_graph);
}

TEST_CASE("rows, strided elements and gathered ones are work") {
  Graph rows;
  give(rows, reduce(rows, Op::sum, input(rows, {500, 1000}), 1));
  CHECK(facts_of_only_kernel(std::move(rows)).work.rows == 500);
  Graph turned;
  Arg arg = read(turned, input(turned, {500, 1000}));
  const int order[] = {1, 0};
  arg.layout = permute(arg.layout, order);
  give(turned, add(turned, Op::exp, {arg}));
  CHECK(facts_of_only_kernel(std::move(turned)).work.strided == 500000);
}

TEST_CASE("work in a cache takes less time, and the rates of all parts add up") {
  const Rates rates{.bytes_per_second = 100,
                    .operations_per_second = 10,
                    .seconds_per_launch = 1,
                    .operations_per_strided = 2,
                    .operations_per_gathered = 3,
                    .operations_per_run = 4,
                    .operations_per_row = 5,
                    .flops_per_second = 50,
                    .cached_bytes = 500,
                    .cache_speedup = 4};
  CHECK(seconds_of({.bytes = 1000}, rates) == 10);
  CHECK(seconds_of({.bytes = 400}, rates) == 1);
  CHECK(seconds_of(
            {.launches = 2, .operations = 10, .strided = 10, .gathered = 10, .runs = 10, .rows = 10, .products = 100},
            rates) == Approx(2 + 1 + 2 + 3 + 4 + 5 + 2));
}
