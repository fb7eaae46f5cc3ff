// Producers that are computed again, and reductions that are unrolled: what becomes one kernel, and what does not.
#include "graph/recompute.h"

#include "catch.h"
#include "graph/compile.h"
#include "graph/domain.h"
#include "graph/passes/passes.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

Arg viewed(const Graph& graph, NodeId id, const Layout& layout) {
  Arg arg = read(graph, id);
  arg.layout = layout;
  return arg;
}

/// The differences of all pairs of `count` points in three dimensions.
NodeId differences(Graph& g, int64_t count) {
  const NodeId x = input(g, {count, 3});
  const Shape pairs{count, count, 3};
  return add(g, Op::sub, {viewed(g, x, {pairs, {3, 0, 1}, 0}), viewed(g, x, {pairs, {0, 3, 1}, 0})});
}

}  // namespace

TEST_CASE("a view of an op's result is a view of its operand, where strides express it") {
  const Layout rows = Layout::contiguous({4, 6});
  CHECK(same(*through({{4}, {6}, 2}, rows), Layout{{4}, {6}, 2}));              // a column
  CHECK(same(*through({{6, 4}, {1, 6}, 0}, rows), Layout{{6, 4}, {1, 6}, 0}));  // the transpose
  const Layout spread{{4, 6}, {0, 1}, 3};
  CHECK(same(*through({{4}, {6}, 2}, spread), Layout{{4}, {0}, 5}));
  CHECK(same(*through({{4, 2, 3}, {6, 3, 1}, 0}, spread), Layout{{4, 2, 3}, {0, 3, 1}, 3}));
  CHECK(same(*through({{3, 6}, {6, -1}, 11}, spread), Layout{{3, 6}, {0, -1}, 8}));  // rows, reversed
  CHECK_FALSE(through({{24}, {1}, 0}, spread).has_value());                          // an index would cross rows
  CHECK(same(*through({{24}, {1}, 0}, rows), Layout{{24}, {1}, 0}));
  CHECK(same(*through({{4}, {7}, 0}, spread), Layout{{4}, {1}, 3}));  // a diagonal
  CHECK_FALSE(through({{0}, {1}, 0}, Layout::contiguous({0})).has_value());
}

TEST_CASE("a reduction of few elements is elementwise, one of more is not") {
  for (const int64_t length : {int64_t{1}, kMaxUnrolled, kMaxUnrolled + 1}) {
    Graph g;
    give(g, reduce(g, Op::sum, add(g, Op::exp, {read(g, input(g, {1000, length}))}), 1));
    const Plan plan = compile(std::move(g));
    REQUIRE(plan.kernels.size() == 1);
    CHECK(plan.kernels[0].kind == (length <= kMaxUnrolled ? Template::pointwise : Template::reduce));
  }
}

TEST_CASE("a short sum of integers, which has no lanes to fold, stays a reduction") {
  Graph g;
  give(g, reduce(g, Op::sum, input(g, {1000, 3}, DType::i64), 1));
  CHECK(compile(std::move(g)).kernels[0].kind == Template::reduce);
}

TEST_CASE("distances of pairs of points are one kernel without their differences") {
  Graph g;
  const NodeId d = differences(g, 200);
  give(g, add(g, Op::sqrt, {read(g, reduce(g, Op::sum, add(g, Op::mul, {read(g, d), read(g, d)}), 2, false))}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].kind == Template::pointwise);
}

TEST_CASE("forces of pairs write at most one number a pair to memory") {
  for (const double operations_per_byte : {1.5, 1000.0}) {
    Graph g;
    const NodeId d = differences(g, 500);
    const NodeId squares = reduce(g, Op::sum, add(g, Op::mul, {read(g, d), read(g, d)}), 2);
    const NodeId weights = add(g, Op::exp, {read(g, squares)});
    give(g, reduce(g, Op::sum, add(g, Op::mul, {read(g, d), spread(g, weights, {500, 500, 3})}), 1, false));
    const Rates rates{.operations_per_second = operations_per_byte * Rates().bytes_per_second};
    const Plan plan = make_plan(recompute(std::move(g), rates, {}));
    CHECK(plan.kernels.size() == (operations_per_byte > 100 ? 1 : 2));
    CHECK(plan.arena_bytes == (operations_per_byte > 100 ? 0 : 500 * 500 * 4));
  }
}

TEST_CASE("what is expensive and read many times is computed once") {
  Graph g;
  const NodeId e = add(g, Op::exp, {read(g, input(g, {1000}))});
  give(g, add(g, Op::mul, {spread(g, e, {1000, 1000}), read(g, input(g, {1000, 1000}))}));
  const Plan plan = compile(std::move(g));
  CHECK(plan.kernels.size() == 2);
}

TEST_CASE("weights are widened where they are read") {
  const auto kernels = [](DType from, DType to) {
    Graph g;
    const NodeId w = input(g, {1000}, from);
    Attrs attrs;
    attrs.dtype = to;
    const NodeId wide = g.add(op_def(Op::cast), {read(g, w)}, attrs, {to, {1000}}, Span{}, g.size());
    give(g, add(g, Op::mul, {read(g, input(g, {10000, 1000}, to)), spread(g, wide, {10000, 1000})}));
    return compile(std::move(g)).kernels.size();
  };
  CHECK(kernels(DType::bf16, DType::f32) == 1);
  CHECK(kernels(DType::f32, DType::f64) == 1);
  CHECK(kernels(DType::f32, DType::bf16) == 2);  // narrower to read
}

TEST_CASE("a decision to compute again, or not, is reported") {
  for (const int64_t copies : {2, 1000}) {
    Graph g;
    const NodeId e = add(g, Op::relu, {read(g, input(g, {100000}))});
    give(g, add(g, Op::mul, {spread(g, e, {copies, 100000}), read(g, input(g, {copies, 100000}))}));
    std::vector<std::string> decisions;
    recompute(std::move(g), {}, {}, [&](const Node& node, const char* decision) {
      decisions.push_back(std::string(node.def().name) + ": " + decision);
    });
    REQUIRE(decisions.size() == 1);
    CHECK(decisions[0] == (copies == 2 ? "relu: it is computed again where it is read, which moves fewer bytes"
                                       : "relu: computing it again where it is read would take longer"));
  }
}

TEST_CASE("steps of a norm are computed again by the kernel that reads them after a product") {
  const Shape shape{64, 256};
  const auto plan_of = [&](DType dtype) {
    Graph g;
    const NodeId x = input(g, shape, dtype);
    Attrs to;
    to.dtype = DType::f32;
    const NodeId wide = g.add(op_def(Op::cast), {read(g, x)}, to, {DType::f32, shape}, Span{}, g.size());
    const NodeId total = reduce(g, Op::sum, wide, 1);
    const NodeId centred = add(g, Op::sub, {read(g, wide), spread(g, total, shape)});
    const NodeId square = input(g, {256, 256});
    const NodeId product =
        g.add(op_def(Op::matmul), {read(g, centred), read(g, square)}, {}, {DType::f32, shape}, Span{}, g.size());
    give(g, reduce(g, Op::sum, centred, 1));
    give(g, add(g, Op::mul, {read(g, product), read(g, add(g, Op::mul, {read(g, wide), number(2)}))}));
    return compile(std::move(g));
  };
  const auto reads_wide = [](const Plan& plan) {
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.kind == Buffer::Kind::temporary && plan.graph[buffer.node].op == Op::cast) return true;
    }
    return false;
  };
  const Plan plan = plan_of(DType::bf16);
  CHECK_FALSE(reads_wide(plan));  // the last kernel converts the input again
  const Kernel& last = plan.kernels.back();
  CHECK(std::any_of(last.program.begin(), last.program.end(), [&](const Instr& instr) {
    return instr.kind == Instr::Kind::load && plan.buffers[last.buffers[instr.buffer]].kind == Buffer::Kind::input;
  }));
}

TEST_CASE("an iota is counted by the kernels that read it, and in memory where a take or an output needs it") {
  const auto kernels = [](bool is_taken_from, bool is_output) {
    Graph g;
    Attrs attrs;
    attrs.dtype = DType::f32;
    attrs.count = 1000;
    const TensorType type{DType::f32, {1000}};
    const NodeId places = g.add(op_def(Op::iota), {number(0), number(1)}, attrs, type, Span{}, g.size());
    Layout later{{8, 900}, {0, 1}, 100};  // a view of its last elements, broadcast
    give(g, add(g, Op::mul, {read(g, input(g, {8, 900})), viewed(g, places, later)}));
    if (is_output) give(g, places);
    if (is_taken_from) {
      const NodeId index = input(g, {5}, DType::i64);
      give(g, g.add(op_def(Op::take), {read(g, places), read(g, index)}, {}, {DType::f32, {5}}, Span{}, g.size()));
    }
    return compile(std::move(g)).kernels.size();
  };
  CHECK(kernels(false, false) == 1);
  CHECK(kernels(false, true) == 2);
  CHECK(kernels(true, false) == 3);
}
