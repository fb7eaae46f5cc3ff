// Checks where the buffers of a plan are in memory.
#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

constexpr uint64_t kBytes = 512 * 512 * 4;  // of a square
const Shape kSquare{512, 512};

NodeId product(Graph& g, NodeId a, NodeId b) { return add(g, Op::matmul, {read(g, a), read(g, b)}); }

Arg turned(const Graph& g, NodeId x) {
  Arg arg = read(g, x);
  const int order[] = {1, 0};
  arg.layout = permute(arg.layout, order);
  return arg;
}

/// Adds a product of two matrices whose memory no output of 512 x 512 elements can reuse.
NodeId small_product(Graph& g) {
  const NodeId a = input(g, {512, 8}), b = input(g, {8, 512});
  return g.add(op_def(Op::matmul), {read(g, a), read(g, b)}, {}, {DType::f32, kSquare}, Span{}, g.size());
}

/// Returns how many temporaries use memory of outputs.
size_t aliased_temporaries(const Plan& plan) {
  return static_cast<size_t>(std::count_if(plan.buffers.begin(), plan.buffers.end(), [&](const Buffer& buffer) {
    return buffer.kind == Buffer::Kind::temporary && plan.buffers[buffer.alias_of].kind == Buffer::Kind::output;
  }));
}

}  // namespace

TEST_CASE("an output aliases the temporary it is computed from", "[plan]") {
  for (const bool by_rows : {false, true}) {
    Graph g;
    const NodeId c = input(g, {512});
    const NodeId sum = add(g, Op::add, {read(g, small_product(g)), spread(g, c, kSquare)});
    if (by_rows) give(g, add(g, Op::sub, {read(g, sum), spread(g, reduce(g, Op::max, sum, 1), kSquare)}));
    else give(g, add(g, Op::gelu, {read(g, sum)}));
    const Plan plan = compile(std::move(g));
    REQUIRE(plan.kernels.size() == 2);
    CHECK(plan.kernels[1].kind == (by_rows ? Template::row : Template::pointwise));
    CHECK(plan.arena_bytes == 0);
    CHECK(aliased_temporaries(plan) == 1);
    CHECK(may_share_memory(plan, plan.kernels[0].buffers.back(), plan.outputs[0].buffer));
  }
}

TEST_CASE("so is a temporary", "[plan]") {
  Graph g;
  const NodeId w = input(g, kSquare);
  NodeId y = small_product(g);
  for (int i = 0; i < 4; ++i) y = product(g, add(g, Op::exp, {read(g, y)}), w);
  give(g, y);
  const Plan plan = compile(std::move(g));
  CHECK(plan.kernels.size() == 9);
  CHECK(plan.arena_bytes == 2 * kBytes);  // a product's operand and its result
  CHECK(aliased_temporaries(plan) == 0);
}

TEST_CASE("aliases of one buffer share its memory", "[plan]") {
  Graph g;
  const NodeId e = add(g, Op::exp, {read(g, small_product(g))});
  const NodeId w = input(g, {512, 1});
  const NodeId column =
      g.add(op_def(Op::matmul), {read(g, e), read(g, w)}, {}, {DType::f32, {512, 1}}, Span{}, g.size());
  give(g, add(g, Op::add, {read(g, e), spread(g, column, kSquare)}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 4);
  CHECK(aliased_temporaries(plan) == 2);  // e, and its operand
  CHECK(plan.arena_bytes == 512 * 4);
}

TEST_CASE("a buffer read at other elements is not aliased", "[plan]") {
  Graph g;
  const NodeId y = small_product(g);
  give(g, add(g, Op::add, {read(g, y), turned(g, y)}));
  const Plan plan = compile(std::move(g));
  CHECK(plan.arena_bytes == kBytes);
  CHECK(aliased_temporaries(plan) == 0);
}

TEST_CASE("a buffer that is read again is not aliased", "[plan]") {
  Graph g;
  const NodeId y = small_product(g);
  give(g, add(g, Op::exp, {read(g, y)}));
  give(g, product(g, y, y));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 3);
  CHECK(plan.arena_bytes == kBytes);
  CHECK(aliased_temporaries(plan) == 0);
}

TEST_CASE("an output may be read by later launches", "[plan]") {
  Graph g;
  const NodeId e = add(g, Op::exp, {read(g, small_product(g))});
  give(g, e);
  give(g, product(g, e, e));
  g.outputs.push_back({e, turned(g, e).layout});  // viewed twice
  const Plan plan = compile(std::move(g));
  CHECK(plan.arena_bytes == 0);
  CHECK(plan.outputs[0].buffer == plan.outputs[2].buffer);
}

TEST_CASE("a buffer of another size or dtype is not aliased", "[plan]") {
  for (const bool other_type : {false, true}) {
    Graph g;
    const NodeId y = small_product(g);
    if (other_type) {
      Attrs attrs;
      attrs.dtype = DType::i32;
      give(g, g.add(op_def(Op::cast), {read(g, y)}, attrs, {DType::i32, kSquare}, Span{}, g.size()));
    } else {
      const NodeId x = input(g, {3, 512, 512});
      give(g, add(g, Op::atan2, {read(g, x), spread(g, y, {3, 512, 512})}));
    }
    const Plan plan = compile(std::move(g));
    CHECK(plan.arena_bytes == kBytes);
    CHECK(aliased_temporaries(plan) == 0);
  }
}

TEST_CASE("of two outputs of a kernel, one aliases their operand", "[plan]") {
  Graph g;
  const NodeId y = small_product(g);
  give(g, add(g, Op::exp, {read(g, y)}));
  give(g, add(g, Op::neg, {read(g, y)}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 2);
  CHECK(plan.arena_bytes == 0);
  CHECK(aliased_temporaries(plan) == 1);
}

TEST_CASE("two buffers do not alias one", "[plan]") {
  Graph g;
  const NodeId a = small_product(g), b = small_product(g);
  give(g, add(g, Op::add, {read(g, a), read(g, b)}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 3);
  CHECK(plan.arena_bytes == kBytes);
  CHECK(aliased_temporaries(plan) == 1);
}

TEST_CASE("a buffer that several kernels of a launch read is not aliased", "[plan]") {
  Graph g;
  const NodeId y = small_product(g);
  give(g, add(g, Op::exp, {read(g, y)}));
  Arg part = read(g, y);
  part.layout = slice(part.layout, 0, 0, 7, 1);
  give(g, g.add(op_def(Op::exp), {part}, {}, {DType::f32, {7, 512}}, Span{}, g.size()));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.launches.size() == 2);
  REQUIRE(plan.launches[1].size() == 2);
  CHECK(plan.arena_bytes == kBytes);
  CHECK(aliased_temporaries(plan) == 0);
}

TEST_CASE("each kernel of a multi-tensor launch may write in place", "[plan]") {
  Graph g;
  std::vector<NodeId> products;
  for (int64_t n : {512, 520, 528}) {
    const NodeId a = input(g, {n, 5}), b = input(g, {5, n});
    products.push_back(g.add(op_def(Op::matmul), {read(g, a), read(g, b)}, {}, {DType::f32, {n, n}}, Span{}, g.size()));
  }
  for (NodeId y : products) give(g, add(g, Op::exp, {read(g, y)}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.launches.back().size() == 3);
  CHECK(plan.arena_bytes == 0);
}

NodeId concat(Graph& g, std::vector<Arg> parts) {
  Shape shape = g[parts[0].node].shape;
  shape[0] = 0;
  for (const Arg& part : parts) shape[0] = shape[0] + part.layout.shape[0];
  Attrs attrs;
  attrs.axis = 0;
  return g.add(op_def(Op::concat), std::move(parts), attrs, {DType::f32, shape}, Span{}, g.size());
}

TEST_CASE("the parts of a concat are one launch", "[plan]") {
  Graph g;
  std::vector<Arg> parts;
  for (int64_t n : {512, 512, 0, 7}) parts.push_back(read(g, input(g, {n, 16})));
  give(g, concat(g, parts));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.launches.size() == 1);
  CHECK(plan.launches[0].size() == 4);
}

TEST_CASE("a part may be written long before the others; what reads the whole comes after all of them", "[plan]") {
  Graph g;
  const NodeId x = input(g, {8, 8});
  const NodeId early = concat(g, {read(g, x), read(g, x)});
  const NodeId product =
      g.add(op_def(Op::matmul), {read(g, early), read(g, x)}, {}, {DType::f32, {16, 8}}, Span{}, g.size());
  give(g, add(g, Op::exp, {read(g, product)}));
  const NodeId late = concat(g, {read(g, product), read(g, x)});
  give(g, g.add(op_def(Op::matmul), {read(g, late), read(g, x)}, {}, {DType::f32, {24, 8}}, Span{}, g.size()));
  const Plan plan = compile(std::move(g));
  const auto launches_of = [&](NodeId id) {
    std::vector<size_t> out;
    for (size_t launch = 0; launch < plan.launches.size(); ++launch) {
      for (uint32_t k : plan.launches[launch]) {
        if (plan.kernels[k].nodes.back() == id) out.push_back(launch);
      }
    }
    return out;
  };
  REQUIRE(launches_of(late).size() == 2);
  CHECK(launches_of(late).front() == launches_of(early).front());
  CHECK(launches_of(late).back() > launches_of(product).front());
  REQUIRE(plan.graph.outputs.size() == 2);
  CHECK(launches_of(plan.graph.outputs[1].node).front() > launches_of(late).back());
}

TEST_CASE("an output with donors is not aliased by temporaries", "[plan]") {
  Graph g;
  const NodeId p = input(g, kSquare);
  give(g, add(g, Op::sub, {read(g, p), read(g, small_product(g))}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.kernels.size() == 2);
  CHECK(plan.donors[0] == std::vector<uint32_t>{0});
  CHECK(plan.arena_bytes == kBytes);
  CHECK(aliased_temporaries(plan) == 0);
}

TEST_CASE("an output before a product of a library may take a donor's memory", "[plan]") {
  Graph g;
  const NodeId p = input(g, kSquare);
  const NodeId updated = add(g, Op::exp, {read(g, p)});
  give(g, updated);
  give(g, g.add(op_def(Op::matmul), {read(g, updated), read(g, updated)}, {}, {DType::f32, kSquare}, Span{}, g.size()));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.donors[0] == std::vector<uint32_t>{0});
}

TEST_CASE("an output before a sort, which allocates memory, keeps donors as they are", "[plan]") {
  Graph g;
  const NodeId p = input(g, kSquare);
  const NodeId updated = add(g, Op::exp, {read(g, p)});
  give(g, updated);
  const Attrs attrs{.axis = 1, .count = kSquare[1]};
  const NodeId sorted = g.add(op_def(Op::sort), {read(g, updated)}, attrs, {DType::f32, kSquare}, Span{}, g.size());
  give(g, g.add_result(sorted, 0, {DType::f32, kSquare}));
  const Plan plan = compile(std::move(g));
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.donors[0].empty());
}

TEST_CASE("a device whose ops do not allocate lets an output before a sort take a donor's memory", "[plan]") {
  Graph g;
  const NodeId p = input(g, kSquare);
  const NodeId updated = add(g, Op::exp, {read(g, p)});
  give(g, updated);
  const Attrs attrs{.axis = 1, .count = kSquare[1]};
  const NodeId sorted = g.add(op_def(Op::sort), {read(g, updated)}, attrs, {DType::f32, kSquare}, Span{}, g.size());
  give(g, g.add_result(sorted, 0, {DType::f32, kSquare}));
  const DeviceTraits device{.ops_allocate = false};
  const Plan plan = make_plan(std::move(g), {}, device);
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.donors[0] == std::vector<uint32_t>{0});
}

/// Adds what Adam does. The outputs are the square, the parameter and the mean, which are inputs 1, 2 and 0.
void add_update(Graph& g, NodeId mean, NodeId square, NodeId p, NodeId gradient) {
  const auto blend = [&](NodeId old, NodeId fresh) {
    const NodeId decayed = add(g, Op::mul, {read(g, old), number(0.9)});
    return add(g, Op::add, {read(g, decayed), read(g, fresh)});
  };
  const NodeId next = blend(square, add(g, Op::square, {read(g, gradient)}));
  const NodeId moved = blend(mean, gradient);
  give(g, next);
  give(g, add(g, Op::sub, {read(g, p), read(g, add(g, Op::div, {read(g, moved), read(g, next)}))}));
  give(g, moved);
}

void check_each_updates_its_own(const Plan& plan) {
  REQUIRE(plan.kernels.size() == 1);
  REQUIRE(plan.donors.size() == 3);
  CHECK(plan.donors[0].front() == 1);
  CHECK(plan.donors[1].front() == 2);
  CHECK(plan.donors[2].front() == 0);
}

TEST_CASE("an output takes first the memory of the input that it is an update of", "[plan]") {
  Graph g;
  const NodeId mean = input(g, kSquare), square = input(g, kSquare), p = input(g, kSquare);
  add_update(g, mean, square, p, input(g, kSquare));
  check_each_updates_its_own(compile(std::move(g)));
}

TEST_CASE("a reduction updates what it reads once a row", "[plan]") {
  for (const int axis : {0, 1}) {
    Graph g;
    const Shape row = axis == 0 ? Shape{1, 512} : Shape{512, 1};
    const NodeId mean = input(g, row), square = input(g, row), p = input(g, row);
    add_update(g, mean, square, p, reduce(g, Op::sum, input(g, kSquare), axis));
    const Plan plan = compile(std::move(g));
    check_each_updates_its_own(plan);
    CHECK(plan.kernels[0].kind == Template::reduce);
  }
}

NodeId written(Graph& g, Arg x, Arg value, int64_t row) {
  Attrs attrs;
  attrs.view = slice(Layout::contiguous(kSquare), 0, row, 1, 1);
  return g.add(op_def(Op::assign_view), {std::move(x), std::move(value)}, attrs, {DType::f32, kSquare}, Span{},
               g.size());
}

TEST_CASE("a chain of writes to a donated input uses the input's memory alone", "[plan]") {
  Graph g;
  const NodeId x = input(g, kSquare), row = input(g, {1, 512});
  NodeId y = written(g, read(g, x), read(g, row), 0);
  for (int64_t i = 1; i < 5; ++i) {
    Arg before = read(g, y);
    before.layout = slice(before.layout, 0, i - 1, 1, 1);
    const NodeId doubled = g.add(op_def(Op::exp), {before}, {}, {DType::f32, {1, 512}}, Span{}, g.size());
    y = written(g, read(g, y), read(g, doubled), i);
  }
  give(g, y);
  const Plan plan = compile(std::move(g));
  CHECK(plan.donors[0] == std::vector<uint32_t>{0});
  CHECK(aliased_temporaries(plan) == 4);
  CHECK(plan.arena_bytes < kBytes);
}

TEST_CASE("writes to an input that is read later leave it as it is", "[plan]") {
  Graph g;
  const NodeId x = input(g, kSquare), row = input(g, {1, 512});
  const NodeId once = written(g, read(g, x), read(g, row), 0);
  give(g, written(g, read(g, once), read(g, row), 1));
  give(g, add(g, Op::exp, {read(g, x)}));
  const Plan plan = compile(std::move(g));
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const bool is_alone =
        plan.launches.size() == 1 || donors_of(plan, b).empty() || plan.buffers[b].first >= plan.buffers[0].last;
    CHECK(is_alone);
  }
}

TEST_CASE("parts of an output do not alias each other", "[plan]") {
  Graph g;
  const NodeId a = small_product(g), b = small_product(g);
  Attrs attrs;
  attrs.axis = 0;
  give(g, g.add(op_def(Op::concat), {read(g, a), read(g, b)}, attrs, {DType::f32, {1024, 512}}, Span{}, g.size()));
  const Plan plan = compile(std::move(g));
  CHECK(plan.arena_bytes == 2 * kBytes);
  CHECK(aliased_temporaries(plan) == 0);
}

TEST_CASE("small temporaries do not lie in outputs, whose addresses change", "[plan]") {
  Graph g;
  const NodeId a = input(g, {32, 8}), b = input(g, {8, 32});
  const NodeId y = g.add(op_def(Op::matmul), {read(g, a), read(g, b)}, {}, {DType::f32, {32, 32}}, Span{}, g.size());
  give(g, add(g, Op::exp, {read(g, y)}));
  const Plan plan = compile(std::move(g));
  CHECK(plan.arena_bytes == 32 * 32 * 4);
  CHECK(aliased_temporaries(plan) == 0);
}
