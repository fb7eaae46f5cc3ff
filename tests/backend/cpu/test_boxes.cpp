// Kernels with parts are divided into boxes, in which nothing is left to choose.
#include <algorithm>

#include "backend/cpu/tiles/builder.h"
#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

NodeId concat(Graph& g, const std::vector<NodeId>& operands, int axis) {
  std::vector<Arg> args;
  Shape shape = g[operands[0]].shape;
  shape[axis] = 0;
  for (NodeId id : operands) {
    args.push_back(read(g, id));
    shape[axis] = shape[axis] + g[id].shape[axis];
  }
  Attrs attrs;
  attrs.axis = axis;
  return g.add(op_def(Op::concat), std::move(args), attrs, {g[operands[0]].dtype, shape}, Span{}, g.size());
}

/// Writes the sum of two of x's own elements to its inner elements.
NodeId stencil(Graph& g, NodeId x) {
  const int64_t n = g[x].shape[0].hint();
  const auto inner = [&](int64_t along) {
    Arg arg = read(g, x);
    arg.layout = slice(slice(arg.layout, 0, 1, n - 2, 1), 1, 1 + along, n - 2, 1);
    return arg;
  };
  const NodeId sum = add(g, Op::add, {inner(-1), inner(1)});
  Attrs attrs;
  attrs.view = inner(0).layout;
  return g.add(op_def(Op::assign_view), {read(g, x), read(g, sum)}, attrs, {g[x].dtype, g[x].shape}, Span{}, g.size());
}

/// Returns the kernels of the boxes of a graph that is one kernel with parts.
std::vector<Kernel> boxes_of(Graph& g, NodeId output) {
  give(g, output);
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  const std::vector<Instr>& program = plan.kernels[0].program;
  CHECK(std::any_of(program.begin(), program.end(), [](const Instr& i) { return i.kind == Instr::Kind::part; }));
  return cpu::divide_into_boxes(plan.kernels[0]);
}

int64_t elements(const Kernel& kernel) {
  int64_t count = 1;
  for (int k = 0; k < kernel.kept.rank(); ++k) count *= kernel.kept[k].hint();
  return count;
}

bool chooses(const Kernel& kernel) {
  return std::any_of(kernel.program.begin(), kernel.program.end(), [](const Instr& instr) {
    return instr.kind == Instr::Kind::part || instr.kind == Instr::Kind::choose || instr.is_guarded;
  });
}

}  // namespace

TEST_CASE("a stencil is divided into its inner elements and its margins", "[boxes]") {
  Graph g;
  const NodeId x = input(g, {64, 64});
  const std::vector<Kernel> boxes = boxes_of(g, stencil(g, x));
  REQUIRE(boxes.size() == 5);
  int64_t all = 0;
  for (const Kernel& box : boxes) {
    CHECK(!chooses(box));
    all += elements(box);
    // Margins only copy: they neither add nor read neighbours.
    const bool is_inner = elements(box) == 62 * 62;
    CHECK(box.program.size() == (is_inner ? 4u : 2u));
  }
  CHECK(all == 64 * 64);
}

TEST_CASE("each operand of a concat is a box, with what reads it", "[boxes]") {
  Graph g;
  const NodeId x = input(g, {64, 40}), y = input(g, {64, 60});
  const std::vector<Kernel> boxes = boxes_of(g, add(g, Op::neg, {read(g, concat(g, {x, y}, 1))}));
  REQUIRE(boxes.size() == 2);
  CHECK(elements(boxes[0]) == 64 * 40);
  CHECK(elements(boxes[1]) == 64 * 60);
  for (const Kernel& box : boxes) {
    CHECK(!chooses(box));
    CHECK(box.buffers.size() == 2);
    CHECK(box.written == 1);
  }
}

TEST_CASE("kernels of one tile, and reductions, are not divided", "[boxes]") {
  Graph small, reduced;
  const NodeId x = input(small, {16, 16});
  CHECK(boxes_of(small, stencil(small, x)).empty());
  const NodeId y = input(reduced, {64, 400}), z = input(reduced, {64, 400});
  CHECK(boxes_of(reduced, reduce(reduced, Op::sum, concat(reduced, {y, z}, 1), 1)).empty());
}
