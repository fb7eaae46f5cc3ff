// The pass recompute must not change bits: plans with and without it run beside each other.
#include "graph/recompute.h"

#include <cstring>
#include <limits>

#include "backend/cpu/backend.h"
#include "catch.h"
#include "graph/compile.h"
#include "graph/passes/passes.h"
#include "graph/spec.h"
#include "support/build.h"
#include "tensor/elements.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Makes a tensor of numbers in which the order of combination shows: rounded ones, zeros of both signs, extremes.
Tensor numbers(cpu::CpuBackend& backend, const Node& node) {
  const double values[] = {1.1, -0.0, 3e4, -7.3, 0.0, 1e-3, -3e4, 0.3, 5.7, -0.0, -0.0, 2.6, 1e4};
  const int64_t count = element_count(node.shape).hint();
  const auto size = static_cast<int64_t>(size_of(node.dtype));
  Tensor out(node.dtype, node.input_layout, backend.allocator().allocate(static_cast<uint64_t>(count * size)));
  for (int64_t i = 0; i < count; ++i) {
    double value = values[i * 5 % 13 * (i / 13 % 7 + 1) % 13];
    if (is_float(node.dtype) && i % 11 == 10) value = std::numeric_limits<double>::quiet_NaN();
    if (is_integer(node.dtype))
      value = static_cast<double>(static_cast<int>(value) % 100 * (value < 0 && !is_signed(node.dtype) ? -1 : 1));
    const ScalarBits bits =
        to_bits(is_float(node.dtype) ? Scalar::of(value) : Scalar::of(static_cast<int64_t>(value)), node.dtype);
    std::memcpy(out.data() + i * size, bits.bytes, static_cast<size_t>(size));
  }
  return out;
}

/// Whether elements are the same bits, or both NaN.
bool same_elements(const Tensor& a, const Tensor& b) {
  const size_t size = size_of(a.dtype());
  const uint64_t infinity = a.dtype() == DType::f16    ? 0x7c00
                            : a.dtype() == DType::bf16 ? 0x7f80
                            : a.dtype() == DType::f32  ? 0x7f800000
                                                       : 0x7ff0000000000000;
  for (int64_t i = 0; i < element_count(a.shape()).hint(); ++i) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, a.data() + i * static_cast<int64_t>(size), size);
    std::memcpy(&y, b.data() + i * static_cast<int64_t>(size), size);
    const uint64_t sign = uint64_t{1} << (8 * size - 1);
    if (x != y && !(is_float(a.dtype()) && (x & ~sign) > infinity && (y & ~sign) > infinity)) return false;
  }
  return true;
}

/// Whether two graphs of the same inputs give the same bits, if no other pass runs.
bool have_same_bits(const Graph& graph, const Graph& changed) {
  cpu::CpuBackend backend(1);
  std::vector<Tensor> inputs, expected(graph.outputs.size()), found(graph.outputs.size());
  for (NodeId id : graph.inputs()) inputs.push_back(numbers(backend, graph[id]));
  verify(changed, "recompute", true);
  backend.prepare(make_plan(graph))->run(inputs, {}, {}, expected);
  backend.prepare(make_plan(changed))->run(inputs, {}, {}, found);
  bool same = true;
  for (size_t i = 0; i < found.size(); ++i) same = same && same_elements(found[i], expected[i]);
  return same;
}

bool has_reduction(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_input && is_reduction(graph[id].def())) return true;
  }
  return false;
}

NodeId reduce_as_inferred(Graph& graph, Op op, NodeId x, const Ints& axes, bool keepdims) {
  Attrs attrs;
  attrs.axes = axes;
  attrs.keepdims = keepdims;
  const Operand operand = Tensor(graph[x].dtype, Layout::contiguous(graph[x].shape), nullptr);
  return graph.add(op_def(op), {read(graph, x)}, attrs, op_def(op).infer({&operand, 1}, attrs), Span{}, graph.size());
}

}  // namespace

TEST_CASE("a short reduction that is unrolled keeps its bits, of every dtype and over any axes") {
  for (const OpDef& op : op_table()) {
    if (!is_reduction(op) || !op.step) continue;
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (op.reduce_rule == ReduceRule::logic && dtype != DType::boolean) continue;
      for (int64_t n = 1; n <= kMaxUnrolled; ++n) {
        for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}}) {
          Graph g;
          Shape shape{7, 7, 7};
          shape[static_cast<int>(axes[0])] = n;
          if (axes.size() == 2) shape[2] = 1;
          give(g, reduce_as_inferred(g, op.op, input(g, shape, dtype), axes, n % 2 == 0));
          INFO(op.name << " of " << name_of(dtype) << ", " << n << " elements");
          const Graph unrolled = unroll(g, [&](NodeId id) { return may_unroll(g[id]); });
          CHECK_FALSE(has_reduction(unrolled));
          CHECK(have_same_bits(g, unrolled));
        }
      }
    }
  }
}

TEST_CASE("forces of pairs keep their bits, whatever is computed again") {
  for (const double operations_per_byte : {1.5, 1000.0}) {
    Graph g;
    const Shape pairs{70, 70, 3};
    const NodeId x = input(g, {70, 3});
    Arg rows = read(g, x), columns = read(g, x);
    rows.layout = {pairs, {3, 0, 1}, 0};
    columns.layout = {pairs, {0, 3, 1}, 0};
    const NodeId d = add(g, Op::sub, {rows, columns});
    const NodeId squares = reduce_as_inferred(g, Op::sum, add(g, Op::mul, {read(g, d), read(g, d)}), {2}, true);
    const NodeId weights = add(g, Op::exp, {read(g, add(g, Op::neg, {read(g, squares)}))});
    const NodeId forces = add(g, Op::mul, {read(g, d), spread(g, weights, pairs)});
    give(g, reduce_as_inferred(g, Op::sum, forces, {1}, false));
    const Graph changed = recompute(
        g, {.operations_per_second = operations_per_byte * Rates().bytes_per_second, .seconds_per_launch = 0}, {});
    CHECK(changed.size() > g.size());
    CHECK(have_same_bits(g, changed));
  }
}
