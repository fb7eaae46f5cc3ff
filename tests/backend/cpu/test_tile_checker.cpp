// The rules that the checker of tile plans states: the builder's plans keep them, and each is reported if it is broken.
#include <algorithm>
#include <string>

#include "backend/cpu/tiles/checker.h"
#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// The tiles of a graph that is one kernel, to be changed by hand.
struct Subject {
  explicit Subject(Graph graph, uint64_t cached_bytes = uint64_t{1} << 30, std::optional<uint32_t> donor = {})
      : plan(compile(std::move(graph))) {
    plan.donors.clear();
    if (donor) plan.donors = {{*donor}};
    REQUIRE(plan.kernels.size() == 1);
    tiles = cpu::build_tiles(plan.kernels[0], plan, cpu::kernels(cpu::best_isa()), cached_bytes);
    CHECK(broken_rule().empty());
  }

  std::string broken_rule() const {
    const char* rule = cpu::find_broken_rule(tiles, plan);
    return rule ? rule : "";
  }

  /// Returns the steps of a kind.
  template <class Kind> std::vector<cpu::Step*> steps() {
    std::vector<cpu::Step*> found;
    for (cpu::Step& step : tiles.steps) {
      if (step.is<Kind>()) found.push_back(&step);
    }
    return found;
  }
  cpu::Chain& chain(size_t number) { return *steps<cpu::Chain>().at(number)->as<cpu::Chain>(); }

  Plan plan;
  cpu::TilePlan tiles;
};

constexpr int64_t kFew = 64;  // elements: fewer than a chain needs

NodeId call(Graph& graph, Op op, NodeId a, NodeId b) { return add(graph, op, {read(graph, a), read(graph, b)}); }

/// Reads three functions of a row's elements once more when the row has been reduced.
Graph reduced_row(const Shape& shape) {
  Graph graph;
  const NodeId x = input(graph, shape);
  const NodeId power = add(graph, Op::exp, {read(graph, x)}), bound = add(graph, Op::tanh, {read(graph, x)});
  const NodeId gate = add(graph, Op::gelu, {read(graph, x)});
  const NodeId sum = reduce(graph, Op::sum, call(graph, Op::mul, power, bound), 1);
  const NodeId share = add(graph, Op::div, {read(graph, power), spread(graph, sum, shape)});
  give(graph, call(graph, Op::pow, call(graph, Op::pow, share, bound), gate));
  return graph;
}

}  // namespace

TEST_CASE("elements stored elsewhere than they are read are reported", "[checker]") {
  Graph graph;
  const NodeId x = input(graph, {kFew});
  give(graph, add(graph, Op::neg, {read(graph, x)}));
  Subject subject(std::move(graph), 1 << 30, 0);
  auto& store = *subject.steps<cpu::Store>().at(0)->as<cpu::Store>();
  store.to.access.stride[0] = 2;
  CHECK(subject.broken_rule() == "A tile writes memory that it also reads only at the elements that it reads.");
}

TEST_CASE("a load that is overwritten before its last use must be a copy", "[checker]") {
  Graph graph;
  const NodeId b = input(graph, {kFew}), w = input(graph, {kFew});
  give(graph, call(graph, Op::mod, b, w));
  give(graph, add(graph, Op::copy, {read(graph, w)}));
  Subject subject(std::move(graph), 1 << 30, 1);
  const std::vector<cpu::Step*> loads = subject.steps<cpu::Load>();
  const auto copied =
      std::find_if(loads.begin(), loads.end(), [](const cpu::Step* step) { return step->as<cpu::Load>()->is_copied; });
  REQUIRE(copied != loads.end());
  (*copied)->as<cpu::Load>()->is_copied = false;
  CHECK(subject.broken_rule() ==
        "No step of a tile, and no earlier phase of a row, writes memory that a later one reads.");
}

TEST_CASE("registers that share a slot while both are needed are reported", "[checker]") {
  constexpr const char* kRule = "Registers whose lives overlap share no slot.";
  Graph graph;
  const NodeId x = input(graph, {kFew}), y = input(graph, {kFew});
  const NodeId sum = call(graph, Op::add, x, y), product = call(graph, Op::mul, sum, x);
  give(graph, call(graph, Op::sub, product, sum));
  Subject steps(std::move(graph));
  const std::vector<cpu::Step*> maps = steps.steps<cpu::Map>();
  REQUIRE(maps.size() == 3);
  maps[1]->memory.slot = maps[0]->memory.slot;
  CHECK(steps.broken_rule() == kRule);

  Subject chains(reduced_row({8, 512}));
  cpu::Chain& chain = chains.chain(0);
  const cpu::Slot own = chain.operands[0].slot;
  chain.operands[0].slot = chain.operands[1].slot;
  CHECK(chains.broken_rule() == kRule);
  chain.operands[0].slot = own;
  CHECK(chains.broken_rule().empty());
  chains.chain(1).slot = chain.steps[0].memory.slot;  // a result that the second chain reads
  CHECK(chains.broken_rule() == kRule);
}

TEST_CASE("a host number whose slot another register takes is reported", "[checker]") {
  Graph graph;
  const NodeId x = input(graph, {kFew});
  const NodeId sum = add(graph, Op::add, {read(graph, x), number(0.5)});
  give(graph, add(graph, Op::mul, {read(graph, sum), read(graph, x)}));
  Subject subject(std::move(graph));
  // Numbers are filled once for all tiles, so their memory is never free.
  subject.steps<cpu::Map>().at(0)->memory.slot = subject.steps<cpu::Fill>().at(0)->memory.slot;
  CHECK(subject.broken_rule() == "Registers whose lives overlap share no slot.");
}

TEST_CASE("an output that two results are computed in is reported", "[checker]") {
  Graph graph;
  const NodeId x = input(graph, {kFew}), y = input(graph, {kFew});
  give(graph, call(graph, Op::add, x, y));
  give(graph, call(graph, Op::mul, x, y));
  Subject subject(std::move(graph));
  const std::vector<cpu::Step*> maps = subject.steps<cpu::Map>();
  REQUIRE(maps.at(0)->memory.output);
  maps.at(1)->memory.output = maps[0]->memory.output;
  CHECK(subject.broken_rule() ==
        "Nothing else writes an output between a result that is computed there and its store.");
}

TEST_CASE("a chain that reads a register otherwise than it was stored is reported", "[checker]") {
  constexpr const char* kRule = "A step reads registers that have values, and a chain reads them as they were stored.";
  using Kind = cpu::Chain::Operand::Kind;
  Subject subject(reduced_row({8, 512}));
  std::vector<cpu::Chain::Operand>& operands = subject.chain(1).operands;
  const auto operand = std::find_if(operands.begin(), operands.end(), [](const cpu::Chain::Operand& o) {
    return o.kind == Kind::elements && !o.is_result;
  });
  REQUIRE(operand != operands.end());
  const cpu::Chain::Operand right = *operand;
  operand->row_bytes += 4;
  CHECK(subject.broken_rule() == kRule);
  *operand = right;
  operand->size = 2;
  CHECK(subject.broken_rule() == kRule);
  *operand = right;
  operand->kind = Kind::one;
  CHECK(subject.broken_rule() == kRule);
  *operand = right;
  CHECK(subject.broken_rule().empty());
  std::erase_if(subject.chain(0).steps, [&](const cpu::Step& step) { return step.dst == right.reg; });
  CHECK(subject.broken_rule() == kRule);
}

TEST_CASE("results of long rows that are not kept, or share memory, are reported", "[checker]") {
  Subject subject(reduced_row({2, 9000}));
  std::vector<cpu::Step*> kept;
  for (cpu::Step* step : subject.steps<cpu::Chain>()) {
    for (cpu::Step& result : step->as<cpu::Chain>()->steps) {
      if (result.memory.kept_at >= 0) kept.push_back(&result);
    }
  }
  REQUIRE(kept.size() == 2);
  const int64_t right = kept[1]->memory.kept_at;
  kept[1]->memory.kept_at = kept[0]->memory.kept_at;
  CHECK(subject.broken_rule() == "Results that a long row keeps at a time share no memory.");
  kept[1]->memory.kept_at = right;
  CHECK(subject.broken_rule().empty());
  subject.tiles.phases.at(1).kept.at(0).memory.is_kept = false;
  CHECK(subject.broken_rule() == "A result that a later phase of a row reads is in memory of its own.");
}

TEST_CASE("a result that is stored past the caches and read again is reported", "[checker]") {
  Subject subject(reduced_row({8, 512}), 0);
  CHECK(subject.tiles.has_streams);
  subject.chain(0).steps.at(0).memory.is_streamed = true;
  CHECK(subject.broken_rule() == "A result that is stored past the caches is not read again.");
}

TEST_CASE("boxes that leave out elements of a kernel are reported", "[checker]") {
  Graph graph;
  const NodeId x = input(graph, {64, 40}), y = input(graph, {64, 60});
  Attrs attrs;
  attrs.axis = 1;
  const NodeId joined = graph.add(op_def(Op::concat), {read(graph, x), read(graph, y)}, attrs,
                                  {DType::f32, Shape{64, 100}}, Span{}, graph.size());
  give(graph, add(graph, Op::neg, {read(graph, joined)}));
  Subject subject(std::move(graph));
  REQUIRE(subject.tiles.boxes.size() == 2);
  subject.tiles.boxes.pop_back();
  CHECK(subject.broken_rule() == "Each element of a kernel is in one of its boxes.");
}
