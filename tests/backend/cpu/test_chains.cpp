// Chains give the same bits as single steps: random graphs, as a whole and op by op, over rows of many lengths, on
// every instruction set and for several numbers of threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backend/cpu/backend.h"
#include "backend/cpu/tiles/tile_plan.h"
#include "catch.h"
#include "graph/compile.h"
#include "kernel_fixture.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;
using kernel_test::Random;

namespace {

/// Makes an expression over [rows, length], with operands of that shape, of a row, and of a column.
struct Program {
  Graph graph;
  std::vector<NodeId> full, row;  // results of shape [rows, length] and [rows, 1]
};

class Generator {
 public:
  Generator(uint64_t seed, int64_t rows, int64_t length, DType dtype)
      : random_(seed), shape_{rows, length}, dtype_(dtype) {
    for (int i = 0; i < 2; ++i) program_.full.push_back(input(program_.graph, shape_, dtype));
    column_ = input(program_.graph, {length}, dtype);
    program_.row.push_back(input(program_.graph, {rows, 1}, dtype));
  }

  Program generate(int ops) {
    for (int i = 0; i < ops; ++i) add_op();
    Graph& graph = program_.graph;
    for (int i = 0; i < 3; ++i) give(graph, pick(program_.full));
    give(graph, program_.full.back());
    give(graph, program_.row.back());
    return std::move(program_);
  }

 private:
  uint64_t below(uint64_t n) { return random_.next() >> 32 & 0xffff ? (random_.next() >> 33) % n : 0; }
  NodeId pick(const std::vector<NodeId>& from) {
    const size_t recent = std::min<size_t>(from.size(), 4);
    return from[below(3) ? from.size() - 1 - below(recent) : below(from.size())];
  }

  Arg operand() {
    Graph& graph = program_.graph;
    switch (below(8)) {
      case 0: return number(0.25 * static_cast<double>(below(9)) - 1);
      case 1: return spread(graph, column_, shape_);
      case 2:
      case 3: return spread(graph, pick(program_.row), shape_);
      default: return read(graph, pick(program_.full));
    }
  }

  void add_op() {
    Graph& graph = program_.graph;
    const Arg main = read(graph, pick(program_.full));
    const uint64_t kind = below(16);
    if (kind < 3) {
      constexpr Op ops[] = {Op::sum, Op::max, Op::min, Op::prod};
      program_.row.push_back(reduce(graph, ops[below(4)], main.node, 1));
    } else if (kind == 3) {
      const NodeId row = pick(program_.row);
      program_.row.push_back(add(graph, Op::add, {read(graph, row), number(0.5)}));
    } else if (kind == 4) {
      const TensorType mask{DType::boolean, shape_};
      const NodeId is_less = graph.add(op_def(Op::lt), {main, operand()}, {}, mask, Span{}, graph.size());
      const TensorType type{dtype_, shape_};
      program_.full.push_back(
          graph.add(op_def(Op::where), {read(graph, is_less), main, operand()}, {}, type, Span{}, graph.size()));
    } else if (kind == 5 && dtype_ != DType::f32) {
      const DType other = std::array{DType::f32, DType::f16, DType::bf16}[below(3)];
      const NodeId there = cast(main.node, other == dtype_ ? DType::f32 : other);
      program_.full.push_back(cast(add(graph, below(2) ? Op::exp : Op::square, {read(graph, there)}), dtype_));
    } else if (kind < 8) {
      constexpr Op ops[] = {Op::square, Op::neg, Op::relu, Op::abs, Op::exp, Op::tanh, Op::floor, Op::gelu};
      program_.full.push_back(add(graph, ops[below(8)], {main}));
    } else if (kind == 8) {
      constexpr Op ops[] = {Op::pow, Op::mod, Op::floordiv};  // calls with two operands
      program_.full.push_back(add(graph, ops[below(3)], {main, operand()}));
    } else {
      constexpr Op ops[] = {Op::add, Op::sub, Op::mul, Op::div, Op::maximum, Op::minimum, Op::sub, Op::div};
      const Op op = ops[below(8)];
      const Arg other = operand();
      program_.full.push_back(other.is_tensor() && below(2) ? add(graph, op, {other, main})
                                                            : add(graph, op, {main, other}));
    }
  }

  NodeId cast(NodeId x, DType to) {
    Graph& graph = program_.graph;
    Attrs attrs;
    attrs.dtype = to;
    return graph.add(op_def(Op::cast), {read(graph, x)}, attrs, {to, graph[x].shape}, Span{}, graph.size());
  }

  Random random_;
  Shape shape_;
  DType dtype_;
  Program program_;
  NodeId column_ = kNoNode;
};

std::vector<Tensor> run(cpu::CpuBackend& backend, Graph graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs(graph.outputs.size());
  const auto executable = backend.prepare(compile(std::move(graph)));
  CHECK(!executable->run(inputs, {}, {}, outputs));
  return outputs;
}

/// Runs each node as a plan of its own.
std::vector<Tensor> run_one_by_one(cpu::CpuBackend& backend, const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.is_input) {
      values[id] = inputs[static_cast<size_t>(std::find(graph.inputs().begin(), graph.inputs().end(), id) -
                                              graph.inputs().begin())];
      continue;
    }
    Graph single;
    std::vector<Tensor> operands;
    std::vector<Arg> args = node.args;
    for (Arg& arg : args) {
      if (!arg.is_tensor()) continue;
      operands.push_back(values[arg.node]);
      arg.node = single.add_input(graph[arg.node].dtype, values[arg.node].layout());
    }
    give(single, single.add(node.def(), args, node.attrs, {node.dtype, node.shape}, Span{}, 0));
    values[id] = run(backend, std::move(single), operands)[0];
  }
  std::vector<Tensor> outputs;
  for (const Output& out : graph.outputs) outputs.push_back(values[out.node]);
  return outputs;
}

Tensor random_tensor(cpu::CpuBackend& backend, DType dtype, const Shape& shape, Random& random) {
  const int64_t count = element_count(shape).hint(), size = static_cast<int64_t>(size_of(dtype));
  Tensor tensor(dtype, Layout::contiguous(shape), backend.allocator().allocate(static_cast<uint64_t>(count * size)));
  constexpr float kSpecial[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f};
  for (int64_t i = 0; i < count; ++i) {
    const float value =
        random.next() >> 40 & 0xff ? static_cast<float>(random.unit() * 4 - 2) : kSpecial[(random.next() >> 33) % 6];
    std::memcpy(tensor.data() + i * size, to_bits(Scalar::of(double{value}), dtype).bytes, size_of(dtype));
  }
  return tensor;
}

/// Returns the first element that differs, or -1; all NaNs are equal.
int64_t difference(const Tensor& a, const Tensor& b) {
  const auto bytes_of = [](const Tensor& x) {
    const auto* begin = reinterpret_cast<const unsigned char*>(x.data());
    return kernel_test::Bytes(begin,
                              begin + element_count(x.shape()).hint() * static_cast<int64_t>(size_of(x.dtype())));
  };
  return kernel_test::first_difference(a.dtype(), bytes_of(a), bytes_of(b));
}

/// Returns the number of chains of a graph that is one kernel.
size_t chains_of(Graph graph, uint64_t cached_bytes = uint64_t{1} << 20) {
  const Plan plan = compile(std::move(graph));
  REQUIRE(plan.kernels.size() == 1);
  const cpu::TilePlan tiles = cpu::build_tiles(plan.kernels[0], plan, kernel_test::best(), cached_bytes);
  return static_cast<size_t>(std::count_if(tiles.steps.begin(), tiles.steps.end(),
                                           [](const cpu::Step& step) { return step.is<cpu::Chain>(); }));
}

}  // namespace

TEST_CASE("a single step is a chain only if this saves repeating an operand, or reading what it writes", "[chains]") {
  const Shape shape{8, 200};
  Graph of_tensors, beside_number, beside_row, of_rows;
  const NodeId x = input(of_tensors, shape), y = input(of_tensors, shape);
  give(of_tensors, add(of_tensors, Op::add, {read(of_tensors, x), read(of_tensors, y)}));
  Graph beyond_caches = of_tensors;
  CHECK(chains_of(std::move(of_tensors)) == 0);
  CHECK(chains_of(std::move(beyond_caches), 3 * 8 * 200 * sizeof(float) - 1) == 1);  // to store past them
  const NodeId a = input(beside_number, shape);
  give(beside_number, add(beside_number, Op::add, {read(beside_number, a), number(0.5)}));
  CHECK(chains_of(std::move(beside_number)) == 1);
  const NodeId b = input(of_rows, shape);
  give(of_rows, reduce(of_rows, Op::sum, b, 1));
  CHECK(chains_of(std::move(of_rows)) == 0);
  // The sum must be there before it is subtracted, so these are two steps that cannot be joined.
  const NodeId c = input(beside_row, shape);
  const NodeId sum = reduce(beside_row, Op::sum, c, 1);
  give(beside_row, add(beside_row, Op::sub, {read(beside_row, c), spread(beside_row, sum, shape)}));
  CHECK(chains_of(std::move(beside_row)) == 1);
}

TEST_CASE("reductions of long rows end chains", "[chains]") {
  const Shape shape{2, 10000};
  Graph of_square, of_difference;
  const NodeId x = input(of_square, shape);
  give(of_square, reduce(of_square, Op::sum, add(of_square, Op::square, {read(of_square, x)}), 1));
  CHECK(chains_of(std::move(of_square)) == 1);
  // The greatest element, then the sum of powers, then the quotients.
  const NodeId y = input(of_difference, shape);
  const NodeId greatest = reduce(of_difference, Op::max, y, 1);
  const NodeId rest = add(of_difference, Op::sub, {read(of_difference, y), spread(of_difference, greatest, shape)});
  const NodeId power = add(of_difference, Op::exp, {read(of_difference, rest)});
  const NodeId sum = reduce(of_difference, Op::sum, power, 1);
  give(of_difference, add(of_difference, Op::div, {read(of_difference, power), spread(of_difference, sum, shape)}));
  CHECK(chains_of(std::move(of_difference)) == 2);
}

TEST_CASE("the places of the best elements of long rows are the first of all", "[chains]") {
  constexpr int64_t kLength = 13000;
  cpu::CpuBackend alone(1), backend(3);
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::f64}) {
    for (const int64_t rows : {1, 3, 40}) {
      for (const Op op : {Op::argmax, Op::argmin}) {
        CAPTURE(name_of(dtype), rows);
        Random random(static_cast<uint64_t>(rows));
        Graph graph;
        const Shape shape{rows, kLength};
        give(graph, reduce(graph, op, input(graph, shape, dtype), 1));
        const std::vector<Tensor> inputs = {random_tensor(alone, dtype, shape, random)};
        // In the first row, nothing is NaN and the best elements are in several blocks.
        const auto size = static_cast<int64_t>(size_of(dtype));
        for (int64_t i = 0; i < kLength; ++i) {
          const Scalar value = Scalar::of(int64_t{i % 4000 == 3999 ? (op == Op::argmax ? 1 : -1) : 0});
          std::memcpy(inputs[0].data() + i * size, to_bits(value, dtype).bytes, size_of(dtype));
        }
        std::vector<int64_t> expected(static_cast<size_t>(rows));
        const auto& kernels = op == Op::argmax ? kernel_test::best().argmax : kernel_test::best().argmin;
        kernels[static_cast<int>(dtype)](expected.data(), inputs[0].data(), static_cast<size_t>(rows), kLength);
        CHECK(expected[0] == 3999);
        for (cpu::CpuBackend* on : {&alone, &backend}) {
          Graph copy = graph;
          const Tensor found = run(*on, std::move(copy), inputs)[0];
          CHECK(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(int64_t)) == 0);
        }
      }
    }
  }
}

TEST_CASE("joined steps give the bits of single ones", "[chains]") {
  struct Size {
    int64_t rows, length;
  };
  constexpr Size kSizes[] = {{5, 127},  {7, 128}, {6, 129}, {4, 200},  {9, 256},   {33, 1000}, {3, 4096},
                             {2, 5000}, {1, 300}, {300, 3}, {40, 128}, {1, 20000}, {3, 8500},  {40, 4100}};
  uint64_t seed = 0;
  for (const cpu::Isa isa : kernel_test::isas()) {
    cpu::CpuBackend alone(1, cpu::Isa::generic), backend(1 + static_cast<int>(isa), isa);
    for (const Size& size : kSizes) {
      for (int round = 0; round < 8; ++round) {
        ++seed;
        CAPTURE(static_cast<int>(isa), size.rows, size.length, seed);
        constexpr DType kTypes[] = {DType::f32, DType::f16, DType::f32, DType::bf16};
        Graph graph = Generator(seed, size.rows, size.length, kTypes[round % 4]).generate(3 + round * 3).graph;
        backend.set_cache_bytes(round % 3 == 0 ? 0 : uint64_t{1} << 30);  // all results or none are stored past them
        Random random(seed);
        std::vector<Tensor> inputs;
        for (NodeId id : graph.inputs())
          inputs.push_back(random_tensor(alone, graph[id].dtype, graph[id].shape, random));
        const std::vector<Tensor> expected = run_one_by_one(alone, graph, inputs);
        const std::vector<Tensor> found = run(backend, std::move(graph), inputs);
        for (size_t i = 0; i < found.size(); ++i) CHECK(difference(found[i], expected[i]) == -1);
      }
    }
  }
}

TEST_CASE("rows of a strip are joined beside rows that are far apart", "[chains]") {
  const Shape shape{5, 7, 128};
  Graph graph;
  const NodeId x = input(graph, shape, DType::f16), y = input(graph, {5, 1, 128}, DType::f16);
  const NodeId weight = input(graph, {128}, DType::f16);
  const NodeId sum = reduce(graph, Op::sum, x, 2);
  const NodeId centred = add(graph, Op::sub, {read(graph, x), spread(graph, sum, shape)});
  const NodeId scaled = add(graph, Op::mul, {read(graph, centred), spread(graph, weight, shape)});
  const NodeId most = reduce(graph, Op::max, scaled, 2);
  const NodeId shifted = add(graph, Op::sub, {read(graph, scaled), spread(graph, most, shape)});
  give(graph, add(graph, Op::mul, {read(graph, shifted), spread(graph, y, shape)}));
  for (const cpu::Isa isa : kernel_test::isas()) {
    cpu::CpuBackend alone(1, cpu::Isa::generic), backend(2, isa);
    Random random(7);
    std::vector<Tensor> inputs;
    for (NodeId id : graph.inputs()) inputs.push_back(random_tensor(alone, graph[id].dtype, graph[id].shape, random));
    const Tensor expected = run_one_by_one(alone, graph, inputs)[0];
    CHECK(difference(run(backend, graph, inputs)[0], expected) == -1);
  }
}

TEST_CASE("sums of elements that are converted first have the bits of single steps", "[chains]") {
  for (const Shape& shape : {Shape{9, 300}, Shape{3, 5000}, Shape{300, 9}}) {
    for (const int axis : {0, 1}) {
      Graph graph;
      const NodeId x = input(graph, shape, DType::bf16);
      Attrs attrs;
      attrs.dtype = DType::f32;
      const NodeId there = graph.add(op_def(Op::cast), {read(graph, x)}, attrs, {DType::f32, shape}, Span{}, 1);
      give(graph, reduce(graph, Op::sum, there, axis));
      give(graph, reduce(graph, Op::max, there, axis));
      Graph sum_alone = graph;
      sum_alone.outputs.pop_back();
      cpu::CpuBackend backend(2, kernel_test::isas().back());
      Random random(3);
      const std::vector<Tensor> inputs = {random_tensor(backend, DType::bf16, shape, random)};
      const std::vector<Tensor> expected = run_one_by_one(backend, graph, inputs);
      const std::vector<Tensor> both = run(backend, std::move(graph), inputs);
      CHECK(difference(both[0], expected[0]) == -1);
      CHECK(difference(both[1], expected[1]) == -1);
      CHECK(difference(run(backend, std::move(sum_alone), inputs)[0], expected[0]) == -1);
    }
  }
}
