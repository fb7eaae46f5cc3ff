#include "catch.h"
#include "graph/compile.h"
#include "graph/dump.h"
#include "graph/passes/passes.h"
#include "graph/reach.h"
#include "graph/spec.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

constexpr int64_t kSide = 64;
const Shape kSquare{kSide, kSide};
constexpr int64_t kMany = int64_t{1} << 20;  // two such tensors exceed caches

NodeId concat(Graph& g, std::vector<Arg> operands, int axis) {
  Shape shape = operands[0].layout.shape;
  shape[axis] = 0;
  for (const Arg& operand : operands) shape[axis] = shape[axis] + operand.layout.shape[axis];
  const DType dtype = g[operands[0].node].dtype;
  Attrs attrs;
  attrs.axis = axis;
  return g.add(op_def(Op::concat), std::move(operands), attrs, {dtype, shape}, Span{}, g.size());
}

/// A device whose kernels branch by part.
struct Branching : Target {
  bool has_epilogue(const Node&) override { return false; }
  DeviceTraits traits() const override { return {.branches_by_part = true}; }
};

/// Adds x with a part replaced.
NodeId write(Graph& g, NodeId x, const Layout& part, Arg value) {
  Attrs attrs;
  attrs.view = part;
  return g.add(op_def(Op::assign_view), {read(g, x), std::move(value)}, attrs, {g[x].dtype, g[x].shape}, Span{},
               g.size());
}

NodeId zeros(Graph& g, const Shape& shape) {
  Attrs attrs;
  attrs.shape = shape;
  return g.add(op_def(Op::fill), {number(0.0)}, attrs, {DType::f32, shape}, Span{}, g.size());
}

/// Returns the layout of a box of a contiguous tensor.
Layout box(const Shape& shape, std::vector<std::pair<int64_t, int64_t>> ranges) {
  Layout layout = Layout::contiguous(shape);
  for (size_t k = 0; k < ranges.size(); ++k)
    layout = slice(layout, static_cast<int>(k), ranges[k].first, ranges[k].second - ranges[k].first, 1);
  return layout;
}

NodeId pad(Graph& g, Arg x, int64_t margin) {
  const int64_t side = x.layout.shape[0].hint() + 2 * margin;
  const Shape shape{side, side};
  return write(g, zeros(g, shape), box(shape, {{margin, side - margin}, {margin, side - margin}}), std::move(x));
}

Arg view(NodeId id, const Layout& layout) {
  Arg arg;
  arg.node = id;
  arg.layout = layout;
  return arg;
}

/// Adds the sum of a tensor's four neighbours of its inner elements.
NodeId neighbours(Graph& g, NodeId u) {
  const Shape& shape = g[u].shape;
  const int64_t n = shape[0].hint();
  const auto at = [&](int64_t down, int64_t along) {
    return view(u, box(g[u].shape, {{1 + down, n - 1 + down}, {1 + along, n - 1 + along}}));
  };
  NodeId sum = add(g, Op::add, {at(-1, 0), at(1, 0)});
  sum = add(g, Op::add, {read(g, sum), at(0, -1)});
  return add(g, Op::add, {read(g, sum), at(0, 1)});
}

NodeId jacobi(Graph& g, NodeId u) {
  const int64_t n = g[u].shape[0].hint();
  const NodeId inner = add(g, Op::mul, {read(g, neighbours(g, u)), number(0.25)});
  return write(g, u, box(g[u].shape, {{1, n - 1}, {1, n - 1}}), read(g, inner));
}

size_t kernels(Graph& g) {
  const Plan plan = compile(std::move(g));
  INFO(dump(plan.graph, nullptr) + dump(plan));
  CHECK(plan.arena_bytes == 0);
  return plan.kernels.size();
}

}  // namespace

TEST_CASE("a stack that is summed away is one kernel, with what is stacked", "[parts]") {
  Graph g;
  const NodeId a = input(g, {1, kMany}), b = input(g, {1, kMany});
  const NodeId sum = add(g, Op::add, {read(g, a), read(g, b)}), rest = add(g, Op::sub, {read(g, a), read(g, b)});
  give(g, reduce(g, Op::sum, concat(g, {read(g, sum), read(g, rest)}, 0), 0));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].name == "add_sub_add");
}

TEST_CASE("a concat of inputs is read in place by its reduction", "[parts]") {
  Graph g;
  const NodeId a = input(g, {8, 30}), b = input(g, {8, 50});
  give(g, reduce(g, Op::sum, concat(g, {read(g, a), read(g, b)}, 1), 1));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].name == "concat_sum");
}

TEST_CASE("a concat of cheap producers is one kernel, if it exceeds caches", "[parts]") {
  for (const bool is_large : {false, true}) {
    const Shape shape{64, is_large ? kMany / 64 : 64};
    Graph g;
    const NodeId a = input(g, shape), b = input(g, shape), c = input(g, shape);
    const NodeId x = add(g, Op::mul, {read(g, a), number(2.0)}), y = add(g, Op::add, {read(g, b), read(g, c)});
    give(g, concat(g, {read(g, x), read(g, y)}, 1));
    CHECK((compile(std::move(g)).kernels.size() == 1) == is_large);
  }
}

TEST_CASE("a stack along the last axis stays an op: its rows are short", "[parts]") {
  Graph g;
  const NodeId a = input(g, {100, 1}), b = input(g, {100, 1});
  give(g, reduce(g, Op::sum, concat(g, {read(g, a), read(g, b)}, 1), 1));
  CHECK(compile(std::move(g)).kernels.size() == 3);
}

TEST_CASE("a concat of what costs much is computed once", "[parts]") {
  Graph g;
  const NodeId a = input(g, kSquare), b = input(g, kSquare);
  const NodeId x = add(g, Op::exp, {read(g, a)}), y = add(g, Op::exp, {read(g, b)});
  give(g, add(g, Op::neg, {read(g, concat(g, {read(g, x), read(g, y)}, 1))}));
  const Plan plan = compile(std::move(g));
  for (const Kernel& kernel : plan.kernels) {
    const bool computes = std::any_of(kernel.program.begin(), kernel.program.end(),
                                      [](const Instr& i) { return i.kind == Instr::Kind::map && i.op == Op::exp; });
    const bool chooses = std::any_of(kernel.program.begin(), kernel.program.end(),
                                     [](const Instr& i) { return i.kind == Instr::Kind::choose; });
    CHECK_FALSE((computes && chooses));
  }
}

TEST_CASE("where kernels branch by part, a concat that ends a kernel computes what costs much", "[parts]") {
  Branching target;
  const auto kernels = [&](int operands, bool is_read_on) {
    Graph g;
    std::vector<Arg> parts;
    for (int i = 0; i < operands; ++i) parts.push_back(read(g, add(g, Op::exp, {read(g, input(g, {64, kMany / 64}))})));
    const NodeId joined = concat(g, std::move(parts), 1);
    give(g, is_read_on ? add(g, Op::neg, {read(g, joined)}) : joined);
    return compile(std::move(g), {}, nullptr, &target).kernels.size();
  };
  CHECK(kernels(2, false) == 1);
  CHECK(kernels(2, true) == 3);    // neg might become part of a reduction
  CHECK(kernels(5, false) == 10);  // each function, and each copy
}

TEST_CASE("where kernels branch by part, what shares rows with a reduction stays with it", "[parts]") {
  Branching target;
  Graph g;
  const Shape shape{kMany / 64, 64};
  const NodeId x = input(g, shape), y = input(g, shape);
  const NodeId sums = reduce(g, Op::sum, x, 1);
  Arg spread_sums = read(g, sums);
  spread_sums.layout = {shape, {1, 0}, 0};
  const NodeId shares = add(g, Op::div, {read(g, x), spread_sums});
  give(g, concat(g, {read(g, shares), read(g, y)}, 1));
  const Plan plan = compile(std::move(g), {}, nullptr, &target);
  CHECK(plan.kernels[0].kind == Template::row);
  CHECK(plan.kernels[0].name == "sum_div");
}

TEST_CASE("where kernels branch by part, short rows may be divided", "[parts]") {
  Branching target;
  Graph g;
  const NodeId a = input(g, {100, 2}), b = input(g, {100, 3});
  give(g, add(g, Op::exp, {read(g, concat(g, {read(g, a), read(g, b)}, 1))}));
  CHECK(compile(std::move(g), {}, nullptr, &target).kernels.size() == 1);
}

TEST_CASE("a concat that only an op reads stays the copies that it was", "[parts]") {
  Graph g;
  const NodeId a = input(g, {4, 3}), b = input(g, {4, 3});
  give(g, concat(g, {read(g, a), read(g, b)}, 0));
  CHECK(compile(std::move(g)).kernels.size() == 2);
}

TEST_CASE("a pad is read where it is used", "[parts]") {
  Graph g;
  const NodeId x = input(g, kSquare), y = input(g, {kSide + 4, kSide + 4});
  give(g, add(g, Op::add, {read(g, pad(g, read(g, x), 2)), read(g, y)}));
  CHECK(kernels(g) == 1);
}

TEST_CASE("a stencil on a padded tensor is one kernel", "[parts]") {
  Graph g;
  give(g, neighbours(g, pad(g, read(g, input(g, kSquare)), 1)));
  CHECK(kernels(g) == 1);
}

TEST_CASE("windows of a padded tensor are one kernel with their reduction", "[parts]") {
  Graph g;
  const NodeId padded = pad(g, read(g, input(g, kSquare)), 1);
  const Layout layout = windows(Layout::contiguous(g[padded].shape), 1, 32, 1, 1);
  Attrs attrs;
  attrs.axes = {2};
  const Operand operand = Tensor(DType::f32, Layout::contiguous(layout.shape), nullptr);
  const TensorType type = op_def(Op::max).infer({&operand, 1}, attrs);
  give(g, g.add(op_def(Op::max), {view(padded, layout)}, attrs, type, Span{}, g.size()));
  CHECK(kernels(g) == 1);
}

TEST_CASE("a Jacobi step is one kernel, and each of a chain is", "[parts]") {
  for (size_t steps = 1; steps <= 3; ++steps) {
    Graph g;
    NodeId u = input(g, kSquare);
    for (size_t i = 0; i < steps; ++i) u = jacobi(g, u);
    give(g, u);
    CHECK(compile(std::move(g)).kernels.size() == steps);
  }
}

TEST_CASE("writes over parts that nothing shows any more drop them", "[parts]") {
  Graph g;
  const NodeId x = input(g, kSquare), y = input(g, kSquare), z = input(g, kSquare);
  const Layout inner = box(kSquare, {{1, 63}, {1, 63}});
  const NodeId once = write(g, x, inner, view(y, inner));
  give(g, add(g, Op::neg, {read(g, write(g, once, inner, view(z, inner)))}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].buffers.size() == 3);  // x, z and the result
}

TEST_CASE("a small write to an input stays in place", "[parts]") {
  Graph g;
  const NodeId x = input(g, kSquare), row = input(g, {1, kSide});
  give(g, write(g, x, box(kSquare, {{3, 4}, {0, kSide}}), read(g, row)));
  const Plan plan = compile(std::move(g));
  CHECK(plan.kernels.size() == 2);
  CHECK(plan.donors[0] == std::vector<uint32_t>{0});
}

TEST_CASE("a write to a computed tensor is part of the kernel that computes it", "[parts]") {
  Graph g;
  const NodeId x = input(g, kSquare), row = input(g, {1, kSide});
  const NodeId power = add(g, Op::exp, {read(g, x)});
  give(g, write(g, power, box(kSquare, {{3, 4}, {0, kSide}}), read(g, row)));
  CHECK(kernels(g) == 1);
}

TEST_CASE("a write of a view that is no box stays a write", "[parts]") {
  Graph g;
  const NodeId x = input(g, kSquare), value = input(g, {kSide});
  const NodeId power = add(g, Op::exp, {read(g, x)});
  give(g, add(g, Op::neg, {read(g, write(g, power, {{kSide}, {kSide + 1}, 0}, read(g, value)))}));  // the diagonal
  CHECK(compile(std::move(g)).kernels.size() > 1);
}

TEST_CASE("parts of whole rows make one loop of rows and columns", "[parts]") {
  Graph g;
  const NodeId a = input(g, {7, 3}), b = input(g, {9, 3});
  give(g, add(g, Op::neg, {read(g, concat(g, {read(g, a), read(g, b)}, 0))}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(same(plan.kernels[0].kept, Dims{48}));
  for (const Instr& instr : plan.kernels[0].program) {
    if (instr.kind == Instr::Kind::part) CHECK((instr.low == 0 || instr.low == 21));
  }
}

TEST_CASE("bounds have a normal form", "[parts]") {
  const Dims shape{10, 20};
  CHECK(normalized({{{1, 0}, -3, 99}}, shape)->empty());           // always hold
  CHECK_FALSE(normalized({{{1, 0}, 10, 12}}, shape).has_value());  // never hold
  CHECK_FALSE(normalized({{{1, 0}, 2, 5}, {{1, 0}, 7, 9}}, shape).has_value());
  const Bounds cut = *normalized({{{0, 1}, 5, 99}, {{1, 0}, 2, 8}, {{1, 0}, 4, 9}}, shape);
  CHECK(cut == Bounds{{{0, 1}, 5, 20}, {{1, 0}, 4, 8}});
  CHECK(count_within(shape, cut) == 60);
  CHECK(holds({{{1, 0}, 4, 9}}, cut));
  CHECK_FALSE(holds({{{1, 0}, 5, 9}}, cut));
}

TEST_CASE("the index that a layout reads is linear, or unknown", "[parts]") {
  const Shape of{6, 8};
  const IndexFunction flipped = *index_function({{6, 4}, {-8, 2}, 41}, {}, of);
  CHECK(flipped.start == std::vector<int64_t>{5, 1});
  CHECK(flipped.steps[0] == Ints{-1, 0});
  CHECK(flipped.steps[1] == Ints{0, 2});
  CHECK_FALSE(index_function({{48}, {1}, 0}, {}, of).has_value());  // runs over the rows' ends
  CHECK_FALSE(index_function({{6}, {9}, 0}, {}, of).has_value());   // the diagonal
  // Within bounds, a layout may leave the tensor elsewhere.
  CHECK_FALSE(index_function({{8, 8}, {8, 1}, -8}, {}, of).has_value());
  CHECK(index_function({{8, 8}, {8, 1}, -8}, {{{1, 0}, 1, 7}}, of)->start == std::vector<int64_t>{-1, 0});
}

TEST_CASE("what strides reach within bounds counts windows of one axis as one range", "[parts]") {
  const Reach rows = *reach_within({10, 4}, {4, 1}, {{{1, 0}, 2, 5}});
  CHECK(rows.first == 8);
  CHECK(rows.last == 19);
  const Reach windows = *reach_within({10, 3}, {1, 1}, {{{1, 1}, 1, 11}});
  CHECK(windows.first == 1);
  CHECK(windows.last == 10);
  CHECK_FALSE(reach_within({10}, {1}, {{{1}, 20, 30}}).has_value());
  // The first 3 elements of the first 4 rows of 5: a bound of several axes counts within those of single ones.
  const Reach first = *reach_within({6, 5}, {5, 1}, {{{1, 0}, 0, 4}, {{5, 1}, 0, 3}});
  CHECK(first.first == 0);
  CHECK(first.last == 2);
}
