// Tiles use memory of the plan in place only where its rules allow it. Tiles that were planned for one plan break the
// rules of another one, in which more buffers share memory.
#include <algorithm>
#include <string>

#include "backend/cpu/tiles/checker.h"
#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Returns the rule that the plan's kernel breaks if output `output` may use the memory of input `donor`, or "".
std::string broken_rule(Plan plan, size_t output, uint32_t donor) {
  const cpu::TilePlan tiles = cpu::build_tiles(plan.kernels[0], plan, cpu::kernels(cpu::best_isa()), uint64_t{1} << 25);
  plan.donors.resize(std::max(plan.donors.size(), output + 1));
  plan.donors[output] = {donor};
  const char* broken = cpu::find_broken_rule(tiles, plan);
  return broken ? broken : "";
}

Plan without_donors(Graph graph) {
  Plan plan = compile(std::move(graph));
  plan.donors.clear();
  return plan;
}

constexpr const char* kInOrder =
    "No step of a tile, and no earlier phase of a row, writes memory that a later one reads.";
constexpr const char* kSameElements = "A tile writes memory that it also reads only at the elements that it reads.";

}  // namespace

TEST_CASE("a tile that stores over an input before it copies the input breaks a rule", "[memory]") {
  for (const int64_t size : {3, 300, 5000}) {
    Graph graph;
    const NodeId b = input(graph, {size}), w = input(graph, {size});
    give(graph, add(graph, Op::mod, {read(graph, b), read(graph, w)}));
    give(graph, add(graph, Op::copy, {read(graph, w)}));
    const Plan plan = without_donors(std::move(graph));
    REQUIRE(plan.kernels.size() == 1);
    CHECK(broken_rule(plan, 0, 1) == kInOrder);
    CHECK(broken_rule(plan, 0, 0).empty());
  }
}

TEST_CASE("a tile that reads elements elsewhere than it writes breaks a rule", "[memory]") {
  Graph graph;
  const NodeId x = input(graph, {300});
  Arg reversed = read(graph, x);
  reversed.layout.strides[0] = -1;
  reversed.layout.offset = 299;
  give(graph, add(graph, Op::neg, {reversed}));
  CHECK(broken_rule(without_donors(std::move(graph)), 0, 0) == kSameElements);
}

TEST_CASE("a long row that writes an input which a later phase reads breaks a rule", "[memory]") {
  Graph graph;
  const NodeId x = input(graph, {2, 9000});
  const NodeId power = add(graph, Op::exp, {read(graph, x)});
  const NodeId total = reduce(graph, Op::sum, power, 1);
  const NodeId share = add(graph, Op::div, {read(graph, power), spread(graph, total, {2, 9000})});
  give(graph, power);
  give(graph, add(graph, Op::mul, {read(graph, share), read(graph, x)}));
  const Plan plan = without_donors(std::move(graph));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(broken_rule(plan, 0, 0) == kInOrder);
  CHECK(broken_rule(plan, 1, 0).empty());
}
