// Tests which launches of a plan compute the same in each run.
#include "exec/constant_launches.h"

#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;
using exec::ConstantLaunches;
using exec::find_constant_launches;

namespace {

constexpr uint64_t kMany = 1 << 20;

Arg whole_number(int64_t value) {
  Arg arg;
  arg.scalar = Scalar::of(value);
  return arg;
}

NodeId iota(Graph& graph, int64_t count, const Arg& start) {
  Attrs attrs;
  attrs.count = count;
  attrs.dtype = DType::i64;
  return graph.add(op_def(Op::iota), {start, whole_number(1)}, attrs, {DType::i64, {count}}, Span{}, graph.size());
}

/// Takes elements of an iota from `start`, which must be in memory, that an input names: a launch for each.
Plan take_of_iota(const Arg& start) {
  Graph graph;
  const NodeId x = iota(graph, 4, start), index = input(graph, {9}, DType::i64);
  give(graph,
       graph.add(op_def(Op::take), {read(graph, x), read(graph, index)}, {}, {DType::i64, {9}}, Span{}, graph.size()));
  Plan plan = graph::compile(std::move(graph));
  REQUIRE(plan.launches.size() == 2);
  return plan;
}

}  // namespace

TEST_CASE("a launch without inputs and symbols is constant, and its reader is not") {
  const Plan plan = take_of_iota(whole_number(2));
  const ConstantLaunches constants = find_constant_launches(plan, kMany);
  CHECK(constants.is_constant == std::vector<bool>{true, false});
  REQUIRE(constants.buffers.size() == 1);
  CHECK(plan.buffers[constants.buffers[0]].kind == Buffer::Kind::temporary);
  CHECK(constants.bytes == bytes_of(plan.buffers[constants.buffers[0]]));
}

TEST_CASE("constants larger than the limit are computed in each run") {
  const Plan plan = take_of_iota(whole_number(2));
  CHECK(find_constant_launches(plan, 4 * sizeof(int64_t) - 1).buffers.empty());
}

TEST_CASE("a launch that reads a symbol is not constant") {
  SymbolTable symbols;
  Arg start = whole_number(2);
  start.symbol = symbols.input(start.scalar);
  CHECK(find_constant_launches(take_of_iota(start), kMany).buffers.empty());
}

TEST_CASE("an output is not constant, since the caller may change it") {
  Graph graph;
  give(graph, iota(graph, 4, whole_number(0)));
  CHECK(find_constant_launches(graph::compile(std::move(graph)), kMany).buffers.empty());
}
