#include "catch.h"
#include "graph/compile.h"
#include "graph/domain.h"
#include "graph/fuse.h"
#include "graph/spec.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Checks that each kernel reads only inputs and what earlier kernels have written.
void check_order(const Plan& plan) {
  std::vector<bool> is_there(plan.buffers.size(), false);
  for (size_t b = 0; b < plan.buffers.size(); ++b) is_there[b] = plan.buffers[b].kind == Buffer::Kind::input;
  for (const Kernel& kernel : plan.kernels) {
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      if (i + kernel.written >= kernel.buffers.size()) is_there[kernel.buffers[i]] = true;
      CHECK(is_there[kernel.buffers[i]]);
    }
  }
}

}  // namespace

TEST_CASE("equal calls are one node") {
  Graph g;
  const NodeId a = input(g, {4}), b = input(g, {4});
  CHECK(add(g, Op::mul, {read(g, a), read(g, b)}) == add(g, Op::mul, {read(g, a), read(g, b)}));
  CHECK(add(g, Op::mul, {read(g, a), read(g, b)}) != add(g, Op::mul, {read(g, b), read(g, a)}));
}

TEST_CASE("equal calls with results of other types are two nodes") {
  Graph g;
  const Arg mask = read(g, input(g, {4}, DType::boolean));
  const auto choice = [&](DType dtype, const Shape& shape) {
    return g.add(op_def(Op::where), {mask, number(1), number(2)}, {}, {dtype, shape}, Span{}, 0);
  };
  CHECK(choice(DType::f32, {4}) == choice(DType::f32, {4}));
  CHECK(choice(DType::f32, {4}) != choice(DType::f64, {4}));
  CHECK(choice(DType::f32, {4}) != choice(DType::f32, {1, 4}));
}

TEST_CASE("refine finds the coarsest common loops") {
  CHECK(same(*refine({6, 4}, {2, 12}), Dims{2, 3, 4}));
  CHECK(same(*refine({1, 5}, {5, 1}), Dims{5}));
  CHECK_FALSE(refine({6, 4}, {4, 6}).has_value());
  CHECK_FALSE(refine({6}, {5}).has_value());
  CHECK(refine({0, 3}, {0, 3}).has_value());
}

TEST_CASE("a multiplication and an addition are one pointwise kernel") {
  Graph g;
  const NodeId a = input(g, {4, 5}), b = input(g, {4, 5}), c = input(g, {4, 5});
  give(g, add(g, Op::add, {read(g, add(g, Op::mul, {read(g, a), read(g, b)})), read(g, c)}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].kind == Template::pointwise);
  CHECK(same(plan.kernels[0].kept, Dims{20}));  // collapsed
  CHECK(plan.arena_bytes == 0);
}

TEST_CASE("softmax is one row kernel") {
  Graph g;
  const NodeId x = input(g, {8, 16});
  const NodeId greatest = reduce(g, Op::max, x, 1);
  const NodeId e = add(g, Op::exp, {read(g, add(g, Op::sub, {read(g, x), spread(g, greatest, {8, 16})}))});
  const NodeId total = reduce(g, Op::sum, e, 1);
  give(g, add(g, Op::div, {read(g, e), spread(g, total, {8, 16})}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].kind == Template::row);
}

TEST_CASE("rows' sums that are summed along the rows again take a second kernel") {
  Graph g;
  const NodeId rows = reduce(g, Op::sum, input(g, {4, 16}), 1);
  Attrs attrs;
  attrs.axes = {1};
  const Operand spread_out = Tensor(DType::f32, Layout::contiguous({4, 16}), nullptr);
  const TensorType type = op_def(Op::sum).infer({&spread_out, 1}, attrs);
  give(g, g.add(op_def(Op::sum), {spread(g, rows, {4, 16})}, attrs, type, Span{}, g.size()));
  CHECK(compile(std::move(g)).kernels.size() == 2);
}

TEST_CASE("the mean of rows' losses stays in the rows' kernel") {
  Graph g;
  const NodeId x = input(g, {8, 16});
  const NodeId rows = reduce(g, Op::sum, add(g, Op::exp, {read(g, x)}), 1, false);
  const NodeId total = reduce(g, Op::sum, add(g, Op::log, {read(g, rows)}), 0, false);
  give(g, add(g, Op::mul, {read(g, total), number(0.125)}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].program.back().level == Level::total);
}

TEST_CASE("a logsumexp over a block is the ops it is made of, over more it is one reduction") {
  for (const int64_t length : {int64_t{16}, kReduceBlock, kReduceBlock + 1}) {
    for (const bool keepdims : {false, true}) {
      Graph g;
      give(g, reduce(g, Op::logsumexp, input(g, {8, length}), 1, keepdims));
      const Plan plan = compile(std::move(g));
      INFO(length);
      REQUIRE(plan.kernels.size() == 1);
      const Kernel& kernel = plan.kernels[0];
      const bool is_one = std::any_of(kernel.program.begin(), kernel.program.end(),
                                      [](const Instr& instr) { return instr.op == Op::logsumexp; });
      CHECK(is_one == (length > kReduceBlock));
      CHECK(kernel.kind == (is_one ? Template::reduce : Template::row));
      CHECK(plan.buffers[plan.outputs[0].buffer].count.hint() == 8);
    }
  }
}

TEST_CASE("a short logsumexp shares what a softmax computes of its rows") {
  Graph g;
  const Shape shape{8, 16};
  const NodeId x = input(g, shape);
  const NodeId e =
      add(g, Op::exp, {read(g, add(g, Op::sub, {read(g, x), spread(g, reduce(g, Op::max, x, 1), shape)}))});
  give(g, e);
  give(g, reduce(g, Op::logsumexp, x, 1));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 1);
  const auto is_greatest = [](const Instr& instr) { return instr.kind == Instr::Kind::reduce && instr.op == Op::max; };
  CHECK(std::count_if(plan.kernels[0].program.begin(), plan.kernels[0].program.end(), is_greatest) == 1);
}

TEST_CASE("rows too long for the cache are not kept, unless the device keeps longer ones") {
  struct Clusters : Target {
    bool has_epilogue(const Node&) override { return false; }
    DeviceTraits traits() const override { return {.resident = {2 * kMaxResidentRow, kReduceBlock}}; }
  } clusters;
  const auto kernels = [](int64_t length, Target* target, int axis = 1) {
    Graph g;
    const Shape shape = axis == 1 ? Shape{2, length} : Shape{length, 2};
    const NodeId x = input(g, shape);
    give(g, add(g, Op::div, {read(g, x), spread(g, reduce(g, Op::sum, x, axis), shape)}));
    return compile(std::move(g), {}, nullptr, target).kernels.size();
  };
  CHECK(kernels(kMaxResidentRow, nullptr) == 1);
  CHECK(kernels(kMaxResidentRow + 1, nullptr) == 2);
  CHECK(kernels(2 * kMaxResidentRow, &clusters) == 1);
  CHECK(kernels(2 * kMaxResidentRow + 1, &clusters) == 2);
  CHECK(kernels(kReduceBlock, &clusters, 0) == 1);
  CHECK(kernels(kReduceBlock + 1, &clusters, 0) == 2);
  CHECK(kernels(kMaxResidentRow, nullptr, 0) == 1);
}

TEST_CASE("a device that reads rows again keeps long ones, if their elements are next to each other") {
  struct Reader : Target {
    bool has_epilogue(const Node&) override { return false; }
    DeviceTraits traits() const override { return {.resident = {.neighbours = kAnyRow}}; }
  } reader;
  const auto kernels = [&](const Shape& shape, int axis) {
    Graph g;
    const NodeId x = input(g, shape);
    give(g, add(g, Op::div, {read(g, x), spread(g, reduce(g, Op::sum, x, axis), shape)}));
    return compile(std::move(g), {}, nullptr, &reader).kernels.size();
  };
  CHECK(kernels({2, int64_t{1} << 24}, 1) == 1);
  CHECK(kernels({kMaxResidentRow, 2}, 0) == 1);
  CHECK(kernels({int64_t{1} << 24, 2}, 0) == 2);
}

TEST_CASE("a group never waits for itself") {
  // b = matmul(a, a) needs a = exp(x) in memory, so a + b cannot share a kernel with a.
  Graph g;
  const NodeId x = input(g, {4, 4});
  const NodeId a = add(g, Op::exp, {read(g, x)});
  const NodeId b = add(g, Op::matmul, {read(g, a), read(g, a)});
  give(g, add(g, Op::add, {read(g, a), read(g, b)}));
  const Plan plan = compile(std::move(g));
  CHECK(plan.kernels.size() == 3);
}

TEST_CASE("a group never waits for one that waits for it") {
  // The two takes share one index, so they may be merged; then y + y must not be in the kernel of what is added to the
  // sums of the first take, although that is older.
  Graph g;
  const NodeId index = input(g, {4}, DType::i64), x = input(g, {4, 3});
  Attrs along;
  along.batch = 0;
  const auto taken = [&](NodeId from) {
    return g.add(op_def(Op::take), {read(g, from), read(g, index)}, along, {DType::f32, {4, 3}}, Span{}, g.size());
  };
  const NodeId first = taken(x);
  const NodeId sums = add(g, Op::cumsum, {read(g, first)}, along), y = add(g, Op::cumsum, {read(g, x)}, along);
  const NodeId twice = add(g, Op::add, {read(g, y), read(g, y)});
  give(g, add(g, Op::mul, {read(g, y), read(g, sums)}));
  give(g, taken(twice));
  check_order(compile(std::move(g)));
}

TEST_CASE("a group that reads one which grows later waits for what that reads, too") {
  // `first` reads b, whose group then reads c; so c and what reads `first` cannot share a kernel.
  Graph g;
  const auto transposed = [&](NodeId id) {
    Arg arg = read(g, id);
    const int order[] = {1, 0};
    arg.layout = permute(arg.layout, order);
    return arg;
  };
  const NodeId x = input(g, {4, 4}), y = input(g, {4, 4}), z = input(g, {4, 4});
  const NodeId a = add(g, Op::exp, {read(g, x)}), b = add(g, Op::exp, {read(g, y)});
  const NodeId first = add(g, Op::add, {read(g, a), transposed(b)});
  const NodeId c = add(g, Op::exp, {read(g, z)});
  give(g, add(g, Op::add, {read(g, b), transposed(c)}));
  give(g, add(g, Op::add, {read(g, c), read(g, first)}));
  const Fusion fusion = fuse(g, false, {}, std::pmr::get_default_resource());  // compile() would compute b and c again
  CHECK(fusion.groups.size() == 3);
  for (NodeId id = 0; id < g.size(); ++id) {
    for (const Arg& arg : g[id].args) CHECK(fusion.group_of[arg.node] <= fusion.group_of[id]);
  }
}

TEST_CASE("elements are taken before functions compute each, unless the operand would have to be stored") {
  const auto kernels_of = [](bool of_input, DType dtype) {
    Graph g;
    const NodeId index = input(g, {2}, DType::i64);
    NodeId x = input(g, {4, 3}, dtype);
    if (!of_input) x = add(g, Op::add, {read(g, x), read(g, input(g, {4, 3}, dtype))});
    Attrs to, along;
    to.dtype = DType::f32;
    along.batch = 0;
    const NodeId wide = g.add(op_def(Op::cast), {read(g, x)}, to, {DType::f32, {4, 3}}, Span{}, g.size());
    const NodeId wave = add(g, Op::sin, {read(g, wide)});
    give(g, g.add(op_def(Op::take), {read(g, wave), read(g, index)}, along, {DType::f32, {2, 3}}, Span{}, g.size()));
    const Plan plan = compile(std::move(g));
    const Kernel& last = plan.kernels.back();
    CHECK(last.program.back().kind == Instr::Kind::store);
    return std::pair(plan.kernels.size(), plan.buffers[last.buffers[0]].dtype);
  };
  CHECK(kernels_of(true, DType::f16).first == 1);
  CHECK(kernels_of(false, DType::f16).first == 2);  // the sum is in memory, and not its sine
  CHECK(kernels_of(false, DType::f64).first == 2);
}

TEST_CASE("elements of a function of a view are taken from what is viewed") {
  Graph g;
  const NodeId index = input(g, {2}, DType::i64), x = input(g, {4, 8}, DType::f16);
  Arg view = read(g, x);
  view.layout = {{4, 3}, {8, 1}, 2};
  const NodeId wave = g.add(op_def(Op::sin), {view}, {}, {DType::f16, {4, 3}}, Span{}, g.size());
  Attrs along;
  along.batch = 0;
  give(g, g.add(op_def(Op::take), {read(g, wave), read(g, index)}, along, {DType::f16, {2, 3}}, Span{}, g.size()));
  const Plan plan = compile(std::move(g));
  CHECK(plan.kernels.size() == 1);
  for (NodeId id = 0; id < plan.graph.size(); ++id) {
    if (plan.graph[id].is_input || plan.graph[id].op != Op::take) continue;
    CHECK(plan.graph[id].args[0].node == x);
    CHECK(same(plan.graph[id].args[0].layout, view.layout));
  }
}

TEST_CASE("what nobody needs goes, but not what may fail") {
  Graph g;
  const NodeId x = input(g, {4});
  const NodeId index = input(g, {2}, DType::i64);
  add(g, Op::mul, {read(g, x), read(g, x)});
  Attrs attrs;
  attrs.batch = 0;
  g.add(op_def(Op::take), {read(g, x), read(g, index)}, attrs, {DType::f32, {2}}, Span{}, 9);
  give(g, add(g, Op::exp, {read(g, x)}));
  const Plan plan = compile(std::move(g));
  bool has_take = false, has_mul = false;
  for (NodeId id = 0; id < plan.graph.size(); ++id) {
    if (plan.graph[id].is_input) continue;
    has_take |= plan.graph[id].op == Op::take;
    has_mul |= plan.graph[id].op == Op::mul;
  }
  CHECK(has_take);
  CHECK_FALSE(has_mul);
}

TEST_CASE("multiplying by one is not computed; an input is, which may lie where results do not") {
  const auto nodes_of = [](bool of_an_input) {
    Graph g;
    NodeId x = input(g, {4});
    if (!of_an_input) x = add(g, Op::exp, {read(g, x)});
    give(g, add(g, Op::exp, {read(g, add(g, Op::mul, {read(g, x), number(1.0)}))}));
    return compile(std::move(g)).graph.size();
  };
  CHECK(nodes_of(false) == 3);
  CHECK(nodes_of(true) == 3);
}

TEST_CASE("temporaries share memory when their lives do not overlap") {
  Graph g;
  const NodeId x = input(g, {8, 8});
  NodeId y = x;
  for (int i = 0; i < 6; ++i) y = add(g, Op::matmul, {read(g, y), read(g, x)});
  give(g, y);
  const Plan plan = compile(std::move(g));
  CHECK(plan.arena_bytes == 2 * 8 * 8 * 4);  // the one being read and the one being written
}

TEST_CASE("equal updates of many tensors are one launch") {
  Graph g;
  std::vector<NodeId> updated;
  for (int i = 1; i <= 5; ++i) {
    const NodeId p = input(g, {i * 10}), d = input(g, {i * 10});
    updated.push_back(add(g, Op::sub, {read(g, p), read(g, add(g, Op::mul, {read(g, d), number(0.1)}))}));
  }
  for (NodeId id : updated) give(g, id);
  const Plan plan = compile(std::move(g));
  CHECK(plan.kernels.size() == 5);
  REQUIRE(plan.launches.size() == 1);
  for (size_t i = 0; i < 5; ++i)
    CHECK(plan.donors[i] == std::vector<uint32_t>{static_cast<uint32_t>(2 * i), static_cast<uint32_t>(2 * i + 1)});
}

TEST_CASE("an input read in another order gives its memory to nobody") {
  Graph g;
  const NodeId x = input(g, {4, 4});
  Arg transposed = read(g, x);
  const int order[] = {1, 0};
  transposed.layout = permute(transposed.layout, order);
  give(g, add(g, Op::add, {read(g, x), transposed}));
  const Plan plan = compile(std::move(g));
  CHECK(plan.donors[0].empty());
}

TEST_CASE("verify finds an operand that is not broadcast") {
  Graph g;
  const NodeId x = input(g, {4}), y = input(g, {2});
  g.add(op_def(Op::add), {read(g, x), read(g, y)}, {}, {DType::f32, {4}}, Span{}, 0);
  CHECK_THROWS(verify(g));
}

TEST_CASE("a place among one element reads nothing", "[fusion]") {
  for (const int64_t extent : {1, 2}) {
    Graph g;
    Attrs attrs;
    attrs.axes = {1};
    give(g, g.add(op_def(Op::argmax), {read(g, input(g, {4, extent}))}, attrs, {DType::i64, {4}}, Span{}, 0));
    const Plan plan = compile(std::move(g));
    REQUIRE(plan.kernels.size() == 1);
    const bool reads = std::any_of(plan.kernels[0].program.begin(), plan.kernels[0].program.end(),
                                   [](const Instr& i) { return i.kind == Instr::Kind::load; });
    CHECK(reads == (extent == 2));
  }
}

TEST_CASE("a scan of one element a row fuses as a copy of its operand", "[fusion]") {
  for (const int64_t extent : {1, 2}) {
    for (const DType dtype : {DType::f32, DType::i8}) {
      Graph g;
      Attrs attrs;
      attrs.axis = 1;
      const DType total = dtype == DType::f32 ? dtype : DType::i64;
      const NodeId x =
          g.add(op_def(Op::neg), {read(g, input(g, {4, extent}, dtype))}, {}, {dtype, {4, extent}}, Span{}, 0);
      give(g, g.add(op_def(Op::cumsum), {read(g, x)}, attrs, {total, {4, extent}}, Span{}, 1));
      CHECK((compile(std::move(g)).kernels.size() == 1) == (extent == 1));
    }
  }
}
