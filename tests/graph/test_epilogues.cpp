// Checks which ops become epilogues of products under fast numerics.
#include "catch.h"
#include "graph/compile.h"
#include "graph/spec.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Supports every epilogue, or none.
class Library : public Target {
 public:
  explicit Library(bool has_all) : has_all_(has_all) {}
  bool has_epilogue(const Node&) override { return has_all_; }

 private:
  bool has_all_;
};

/// Returns the kernels of the plan: "matmul_add relu".
std::string kernels(Graph graph, bool fast = true, bool has_all = true) {
  Library library(has_all);
  const Plan plan = compile(std::move(graph), {.fast_numerics = fast}, nullptr, &library);
  verify(plan.graph);
  std::string names;
  for (const Kernel& kernel : plan.kernels) names += (names.empty() ? "" : " ") + kernel.name;
  return names;
}

const Shape kShape{6, 9};

struct Layer {
  Graph graph;
  NodeId product, bias;
  explicit Layer(DType dtype = DType::f32, const Shape& of_bias = {9}) {
    const NodeId a = input(graph, {6, 4}, dtype), b = input(graph, {4, 9}, dtype);
    product = graph.add(op_def(Op::matmul), {read(graph, a), read(graph, b)}, {}, {dtype, kShape}, Span{}, 0);
    bias = input(graph, of_bias, dtype);
  }
  NodeId sum(bool bias_first = false) {
    const Arg spread_bias = spread(graph, bias, kShape), all = read(graph, product);
    return bias_first ? add(graph, Op::add, {spread_bias, all}) : add(graph, Op::add, {all, spread_bias});
  }
  NodeId of(Op op, NodeId x) { return add(graph, op, {read(graph, x)}); }
  std::string giving(NodeId x, bool fast = true, bool has_all = true) {
    give(graph, x);
    return kernels(std::move(graph), fast, has_all);
  }
};

}  // namespace

TEST_CASE("a bias and an activation are part of the product", "[epilogue]") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    CHECK([&] {
      Layer l(dtype);
      return l.giving(l.sum());
    }() == "matmul_add");
    CHECK([&] {
      Layer l(dtype);
      return l.giving(l.sum(true));
    }() == "matmul_add");
    CHECK([&] {
      Layer l(dtype);
      return l.giving(l.of(Op::relu, l.sum()));
    }() == "matmul_add_relu");
    CHECK([&] {
      Layer l(dtype);
      return l.giving(l.of(Op::gelu_tanh, l.sum(true)));
    }() == "matmul_add_gelu_tanh");
    CHECK([&] {
      Layer l(dtype);
      return l.giving(l.of(Op::relu, l.product));
    }() == "matmul_relu");
  }
  CHECK([] {
    Layer l(DType::f32, {1, 9});
    return l.giving(l.sum());
  }() == "matmul_add");
}

TEST_CASE("only where numerics are fast and the backend has the epilogue", "[epilogue]") {
  CHECK([] {
    Layer l;
    return l.giving(l.of(Op::relu, l.sum()), false);
  }() == "matmul add_relu");
  CHECK([] {
    Layer l;
    return l.giving(l.of(Op::relu, l.sum()), true, false);
  }() == "matmul add_relu");
  Layer l;
  give(l.graph, l.sum());
  CHECK(compile(std::move(l.graph), {.fast_numerics = true}).kernels.size() == 2);
}

TEST_CASE("not of f64 and integers, whose sums are no f32", "[epilogue]") {
  for (const DType dtype : {DType::f64, DType::i64, DType::i32}) {
    CHECK([&] {
      Layer l(dtype);
      return l.giving(l.sum());
    }() == "matmul add");
  }
}

TEST_CASE("not if the bias is no vector along the last axis", "[epilogue]") {
  CHECK([] {
    Layer l(DType::f32, {6, 1});
    return l.giving(l.sum());
  }() == "matmul add");
  CHECK([] {
    Layer l(DType::f32, {6, 9});
    return l.giving(l.sum());
  }() == "matmul add");
  CHECK([] {
    Layer l(DType::f32, {1});
    return l.giving(l.sum());
  }() == "matmul add");
  CHECK([] {
    Layer l;
    return l.giving(add(l.graph, Op::add, {read(l.graph, l.product), number(2)}));
  }() == "matmul add");
  CHECK([] {
    Layer l;
    return l.giving(add(l.graph, Op::sub, {read(l.graph, l.product), spread(l.graph, l.bias, kShape)}));
  }() == "matmul sub");
  Layer turned;  // 54 elements seen as another matrix, whose rows are not the product's
  const Shape other{9, 6};
  const NodeId bias = input(turned.graph, {6});
  Arg product = read(turned.graph, turned.product);
  product.layout = Layout::contiguous(other);
  CHECK(turned.giving(add(turned.graph, Op::add, {product, spread(turned.graph, bias, other)})) == "matmul add");
}

TEST_CASE("not if anything else reads what comes in between", "[epilogue]") {
  CHECK([] {
    Layer l;
    give(l.graph, l.product);
    return l.giving(l.sum());
  }() == "matmul add");
  CHECK([] {
    Layer l;
    give(l.graph, l.sum());
    return l.giving(l.of(Op::relu, l.sum()));
  }() == "matmul add_relu");
  CHECK([] {
    Layer l;
    give(l.graph, l.of(Op::exp, l.product));
    return l.giving(l.sum());
  }() == "matmul exp_add");
  CHECK([] {
    Layer l;
    return l.giving(add(l.graph, Op::add, {read(l.graph, l.product), read(l.graph, l.product)}));
  }() == "matmul add");
}

TEST_CASE("not out of a kernel that does more", "[epilogue]") {
  CHECK([] {
    Layer l;
    return l.giving(l.of(Op::gelu, l.sum()));
  }() == "matmul add_gelu");
  CHECK([] {
    Layer l;
    return l.giving(l.of(Op::exp, l.of(Op::relu, l.sum())));
  }() == "matmul add_relu_exp");
  CHECK([] {
    Layer l;
    return l.giving(reduce(l.graph, Op::sum, l.sum(), 1));
  }() == "matmul add_sum");
}

TEST_CASE("the next product reads what the epilogue made, also in another shape", "[epilogue]") {
  Layer l;
  const Shape deep{2, 3, 9};
  Arg product = read(l.graph, l.product);
  product.layout = Layout::contiguous(deep);
  const NodeId hidden = l.of(Op::relu, add(l.graph, Op::add, {product, spread(l.graph, l.bias, deep)}));
  Arg rows = read(l.graph, hidden);
  rows.layout = Layout::contiguous(kShape);
  const NodeId w = input(l.graph, {9, 5}), c = input(l.graph, {5});
  const NodeId y = l.graph.add(op_def(Op::matmul), {rows, read(l.graph, w)}, {}, {DType::f32, {6, 5}}, Span{}, 1);
  give(l.graph, add(l.graph, Op::add, {read(l.graph, y), spread(l.graph, c, {6, 5})}));
  Library library(true);
  const Plan plan = compile(std::move(l.graph), {.fast_numerics = true}, nullptr, &library);
  REQUIRE(plan.kernels.size() == 2);
  CHECK(plan.kernels[0].name == "matmul_add_relu");
  CHECK(plan.kernels[1].name == "matmul_add");
  CHECK(plan.kernels[0].buffers.size() == 4);
  CHECK(plan.kernels[1].buffers[0] == plan.kernels[0].buffers[3]);
}
