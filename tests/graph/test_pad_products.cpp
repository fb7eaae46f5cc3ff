// Checks what becomes of products that a device computes with larger extents.
#include "catch.h"
#include "graph/compile.h"
#include "graph/spec.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Pads 6 x 4 by 4 x 9 to 6 x 8 by 8 x 16.
struct Padding : Target {
  bool has_epilogue(const Node&) override { return false; }
  std::optional<PaddedProduct> padded(const Node& product) override {
    if (product.shape[1].hint() != 9) return {};
    return PaddedProduct{6, 16, 8, false, product.args[1].layout.strides[1].hint() != 1};
  }
  DeviceTraits traits() const override { return {.branches_by_part = true}; }
};

struct Product {
  Graph graph;
  NodeId a, b, product;
  explicit Product(bool transposed = false) {
    a = input(graph, {6, 4});
    b = transposed ? input(graph, {9, 4}) : input(graph, {4, 9});
    Arg right = read(graph, b);
    if (transposed) right.layout = {{4, 9}, {1, 4}, 0};
    product = graph.add(op_def(Op::matmul), {read(graph, a), right}, {}, {DType::f32, {6, 9}}, Span{}, 0);
  }
  Plan plan() {
    Padding target;
    Plan made = compile(std::move(graph), {}, nullptr, &target);
    verify(made.graph);
    return made;
  }
};

/// Returns the kernels of a plan: "copy matmul".
std::string names(const Plan& plan) {
  std::string text;
  for (const Kernel& kernel : plan.kernels) text += (text.empty() ? "" : " ") + kernel.name;
  return text;
}

const Node& product_of(const Plan& plan) {
  NodeId found = 0;
  while (plan.graph[found].is_input || plan.graph[found].op != Op::matmul) ++found;
  return plan.graph[found];
}

}  // namespace

TEST_CASE("operands are padded, and a result that leaves the plan is a copy", "[pad]") {
  Product p;
  give(p.graph, p.product);
  const Plan plan = p.plan();
  CHECK(names(plan) == "assign_view assign_view matmul copy");
  const Node& product = product_of(plan);
  CHECK(product.shape == Shape{6, 16});
  CHECK(product.args[0].layout.shape == Shape{6, 8});
  CHECK(product.args[1].layout.shape == Shape{8, 16});
}

TEST_CASE("a padded operand keeps the order of its memory", "[pad]") {
  Product p(true);
  give(p.graph, p.product);
  const Plan plan = p.plan();
  const Layout& right = product_of(plan).args[1].layout;
  CHECK(right.shape == Shape{8, 16});
  CHECK(right.strides[0].hint() == 1);
  CHECK(right.strides[1].hint() == 8);
}

TEST_CASE("what is computed of a larger product reads it in place", "[pad]") {
  Product p;
  give(p.graph, add(p.graph, Op::relu, {read(p.graph, p.product)}));
  CHECK(names(p.plan()) == "assign_view assign_view matmul relu");
}

TEST_CASE("an op with a kernel of its own reads the copy, as it would eagerly", "[pad]") {
  Product p;
  Attrs along;
  along.axis = 1;
  give(p.graph, p.graph.add(op_def(Op::cumsum), {read(p.graph, p.product)}, along, {DType::f32, {6, 9}}, Span{}, 1));
  CHECK(names(p.plan()) == "assign_view assign_view matmul copy cumsum");
}

TEST_CASE("an order that no strides express takes the copy", "[pad]") {
  Product p;
  Arg flat = read(p.graph, p.product);
  flat.layout = {{54}, {1}, 0};
  give(p.graph, add(p.graph, Op::relu, {flat}));
  const Plan plan = p.plan();
  CHECK(names(plan) == "assign_view assign_view matmul relu");  // the copy and relu are one kernel
  CHECK(plan.graph[plan.graph.outputs[0].node].shape == Shape{54});
}

TEST_CASE("equal operands are padded once", "[pad]") {
  Product p;
  const NodeId again = p.graph.add(op_def(Op::matmul), {read(p.graph, p.a), read(p.graph, input(p.graph, {4, 9}))}, {},
                                   {DType::f32, {6, 9}}, Span{}, 1);
  give(p.graph, add(p.graph, Op::add, {read(p.graph, p.product), read(p.graph, again)}));
  CHECK(names(p.plan()) == "assign_view assign_view matmul assign_view matmul add");
}

TEST_CASE("products with other extents stay as they are", "[pad]") {
  Graph graph;
  const NodeId a = input(graph, {6, 4}), b = input(graph, {4, 8});
  give(graph, graph.add(op_def(Op::matmul), {read(graph, a), read(graph, b)}, {}, {DType::f32, {6, 8}}, Span{}, 0));
  Padding target;
  CHECK(names(compile(std::move(graph), {}, nullptr, &target)) == "matmul");
}
