#include "graph/passes/passes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "graph/kernel.h"
#include "graph/passes/copier.h"
#include "tensor/limits.h"

namespace tsl::graph {

namespace {

/// Replaces extents and strides by those of a run; the offset stays a symbol, which the plan evaluates in each run.
void set_sizes(Dims& dims, std::span<const Scalar> symbols) {
  for (Dim& dim : dims) dim = dim.in_run(symbols);
}
void set_sizes(Layout& layout, std::span<const Scalar> symbols) {
  set_sizes(layout.shape, symbols);
  set_sizes(layout.strides, symbols);
}

bool is_one(const Arg& arg) { return !arg.is_tensor() && !arg.symbol && arg.scalar.as_real() == 1.0; }

/// Returns the operand that `node` only repeats, or kNoNode. An input does not qualify: its copy has memory of its own
/// and does not keep a larger tensor alive that the input is a view of.
NodeId repeated_operand(const Graph& graph, const Node& node) {
  if (node.is_input) return kNoNode;
  auto repeats = [&](const Arg& arg) {
    return arg.is_tensor() && !graph[arg.node].is_input && graph[arg.node].dtype == node.dtype &&
           reads_all_in_order(graph, arg);
  };
  if (node.op == Op::copy) return repeats(node.args[0]) ? node.args[0].node : kNoNode;
  if (node.op != Op::mul && node.op != Op::div) return kNoNode;
  if (is_one(node.args[1]) && repeats(node.args[0])) return node.args[0].node;
  if (node.op == Op::mul && is_one(node.args[0]) && repeats(node.args[1])) return node.args[1].node;
  return kNoNode;
}

/// Folds an op of constants, if its result is the same on any machine: f32 and f64 arithmetic with a single rounding.
/// (Rounding the f64 result gives the correct f32 result: Figueroa, "When is double rounding innocuous?", 1995.)
std::optional<Scalar> folded(const Node& node) {
  if (node.dtype != DType::f32 && node.dtype != DType::f64) return {};
  double x[2] = {0, 0};
  for (size_t i = 0; i < node.args.size(); ++i) {
    const Arg& arg = node.args[i];
    const bool is_exact = !arg.is_tensor() && !arg.symbol &&
                          (arg.scalar.type != ScalarType::integer || std::abs(arg.scalar.as_real()) < 0x1p53);
    if (!is_exact || i == 2) return {};
    x[i] = node.dtype == DType::f32 ? static_cast<float>(arg.scalar.as_real()) : arg.scalar.as_real();
  }
  const auto rounded = [&](double y) {
    return Scalar::of(node.dtype == DType::f32 ? static_cast<double>(static_cast<float>(y)) : y);
  };
  if (node.op == Op::neg) return rounded(-x[0]);
  if (node.op == Op::add) return rounded(x[0] + x[1]);
  if (node.op == Op::sub) return rounded(x[0] - x[1]);
  if (node.op == Op::mul) return rounded(x[0] * x[1]);
  if (node.op == Op::div) return rounded(x[0] / x[1]);
  return {};
}

/// Makes a fill of a node's type.
Node fill_like(const Node& node, const Arg& value) {
  Node fill;
  fill.op = Op::fill;
  fill.args = {value};
  fill.attrs.shape = node.shape;
  fill.attrs.dtype = fill.dtype = node.dtype;
  fill.shape = node.shape;
  fill.span = node.span;
  fill.range = node.range;
  fill.work = node.work;
  fill.order = node.order;
  return fill;
}

/// Returns the number of elements that a reduction combines into one.
int64_t reduced_count(const Node& reduction) {
  int64_t count = 1;
  for (int64_t axis : reduction.attrs.axes) count *= reduction.args[0].layout.shape[static_cast<int>(axis)].hint();
  return count;
}

/// Decomposes node `id`, a logsumexp: with the maximum g of each row, log(sum(exp(x - g))) + g. An infinite or NaN g is
/// replaced by 0, since exp() then gives the right result by itself. Over no elements: log(sum(exp(x))).
void decompose_logsumexp(const Graph& graph, NodeId id, Copier& copier) {
  const Node& node = graph[id];
  Arg x = node.args[0];
  x.node = copier.renamed(x.node);
  const Shape& shape = x.layout.shape;
  Layout along_rows{shape, {}, 0};  // the row's result, repeated for all elements
  Dims strides = contiguous_strides(node.shape);
  for (int i = 0, kept = 0; i < shape.rank(); ++i) {
    const bool reduced = node.attrs.axes.contains(i);
    along_rows.strides.push_back(reduced ? Dim(0) : strides[kept]);
    kept += !reduced || node.attrs.keepdims;
  }
  const auto reduce = [&](Op op, const Arg& of) {
    return copier.add(id, op, {of}, node.attrs, {node.dtype, node.shape});
  };
  const auto row = [&](NodeId node_id) { return all_of(node_id, node.shape); };
  const auto map_rows = [&](Op op, std::vector<Arg> args, DType dtype) {
    return copier.add(id, op, std::move(args), {}, {dtype, node.shape});
  };
  if (reduced_count(node) == 0) {  // no element is the greatest: the logarithm of 0
    const NodeId power = copier.add(id, Op::exp, {x}, {}, {node.dtype, shape});
    const NodeId total = reduce(Op::sum, all_of(power, shape));
    return copier.replace(id, map_rows(Op::log, {row(total)}, node.dtype));
  }
  Arg zero;
  zero.scalar = Scalar::of(0.0);
  const NodeId greatest = reduce(Op::max, x);
  const NodeId is_finite = map_rows(Op::isfinite, {row(greatest)}, DType::boolean);
  const NodeId shift = map_rows(Op::where, {row(is_finite), row(greatest), zero}, node.dtype);
  Arg spread = row(shift);
  spread.layout = along_rows;
  const NodeId difference = copier.add(id, Op::sub, {x, spread}, {}, {node.dtype, shape});
  const NodeId power = copier.add(id, Op::exp, {all_of(difference, shape)}, {}, {node.dtype, shape});
  const NodeId total = map_rows(Op::log, {row(reduce(Op::sum, all_of(power, shape)))}, node.dtype);
  copier.replace(id, map_rows(Op::add, {row(total), row(shift)}, node.dtype));
}

/// Returns the slices that a reduction combines, in the order of its row; each has the shape of its result.
std::vector<Arg> slices_of(const Node& reduction) {
  std::vector<Arg> slices(1, reduction.args[0]);
  const Layout& from = reduction.args[0].layout;
  slices[0].layout = {{}, {}, from.offset};
  for (int i = 0; i < from.rank(); ++i) {
    const bool is_reduced = reduction.attrs.axes.contains(i);
    const std::vector<Arg> outer = std::exchange(slices, {});
    for (const Arg& slice : outer) {
      for (int64_t index = 0; index < (is_reduced ? from.shape[i].hint() : 1); ++index) {
        Layout& layout = slices.emplace_back(slice).layout;
        if (index > 0) layout.offset = layout.offset + from.strides[i] * index;
        if (is_reduced && !reduction.attrs.keepdims) continue;
        layout.shape.push_back(is_reduced ? Dim(1) : from.shape[i]);
        layout.strides.push_back(is_reduced ? Dim(0) : from.strides[i]);
      }
    }
  }
  return slices;
}

/// Returns the dtype in which a reduction combines elements.
DType combined_dtype(const Node& reduction, DType operand) {
  const ReduceRule rule = reduction.def().reduce_rule;
  return rule == ReduceRule::logic ? DType::boolean : rule == ReduceRule::total ? accumulator_of(operand) : operand;
}

/// Unrolls reduction `id`: its elements are the lanes of the reduction order, which fold in halves.
void unroll_reduction(const Graph& graph, NodeId id, Copier& copier) {
  const Node& node = graph[id];
  const DType from = graph[node.args[0].node].dtype, dtype = combined_dtype(node, from);
  const auto cast = [&](Arg arg, DType to) {
    return all_of(copier.add(id, Op::cast, {std::move(arg)}, {.dtype = to}, {to, node.shape}), node.shape);
  };
  std::vector<Arg> lanes = slices_of(node);
  const bool is_one = lanes.size() == 1;  // one element needs no accumulator
  for (Arg& lane : lanes) {
    lane.node = copier.renamed(lane.node);
    if (dtype != from && !is_one) lane = cast(lane, dtype);
  }
  for (size_t half = std::bit_ceil(lanes.size()) / 2; half > 0; half /= 2) {
    for (size_t l = 0; l + half < lanes.size(); ++l) {
      lanes[l] =
          all_of(copier.add(id, *node.def().step, {lanes[l], lanes[l + half]}, {}, {dtype, node.shape}), node.shape);
    }
    lanes.resize(half);
  }
  const DType last = is_one ? from : dtype;
  if (last != node.dtype) lanes[0] = cast(lanes[0], node.dtype);
  else if (is_one) lanes[0] = all_of(copier.add(id, Op::copy, {lanes[0]}, {}, {node.dtype, node.shape}), node.shape);
  copier.replace(id, lanes[0].node);
}

/// The readers of a node.
struct Uses {
  uint32_t count = 0;       // includes uses as outputs
  bool in_kernels = false;  // read by a kernel element by element
};

std::vector<Uses> uses_of(const Graph& graph) {
  std::vector<Uses> uses(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Arg& arg : graph[id].args) {
      if (!arg.is_tensor()) continue;
      const OpDef& reader = graph[id].def();
      ++uses[arg.node].count;
      uses[arg.node].in_kernels |= is_elementwise(reader) || is_reduction(reader);
    }
  }
  for (const Output& out : graph.outputs) ++uses[out.node].count;
  return uses;
}

/// Whether an operand of `sum` is a vector of `length` elements along the last axis, broadcast along all others.
bool is_bias(const Graph& graph, const Node& sum, const Arg& arg, Dim length) {
  const int last = sum.shape.rank() - 1;
  if (!arg.is_tensor() || graph[arg.node].dtype != sum.dtype || last < 0 || sum.shape[last].hint() != length.hint())
    return false;
  for (int i = 0; i <= last; ++i) {
    if (sum.shape[i].hint() != 1 && arg.layout.strides[i].hint() != (i == last)) return false;
  }
  return true;
}

bool sums_in_f32(DType dtype) { return is_float(dtype) && accumulator_of(dtype) == DType::f32; }

/// Returns the matrix product with an epilogue whose last op is node `id`, if it is one.
std::optional<Node> with_epilogue(const Graph& graph, const std::vector<Uses>& uses, NodeId id) {
  const auto is_own = [&](const Arg& arg) {
    return arg.is_tensor() && uses[arg.node].count == 1 && reads_all_in_order(graph, arg);
  };
  const auto is_product = [&](const Arg& arg) {
    return is_own(arg) && graph[arg.node].op == Op::matmul && sums_in_f32(graph[arg.node].dtype);
  };
  const auto columns_of = [&](const Arg& product) {
    return graph[product.node].shape[graph[product.node].shape.rank() - 1];
  };
  if (uses[id].in_kernels) return {};
  const Node* end = &graph[id];
  const Arg *product = nullptr, *bias = nullptr;
  Epilogue epilogue;
  if (Epilogue::is_activation(end->op)) {
    epilogue.activation = end->op;
    product = &end->args[0];
    if (!is_own(*product)) return {};
    end = &graph[product->node];
  }
  for (size_t i = 0; i < 2 && end->op == Op::add && !epilogue.bias; ++i) {
    product = &end->args[i];
    bias = &end->args[1 - i];
    epilogue.bias = is_product(*product) && is_bias(graph, *end, *bias, columns_of(*product));
  }
  if (epilogue == Epilogue() || !is_product(*product) || (bias && !epilogue.bias)) return {};
  Node node = graph[product->node];
  node.epilogue = epilogue;
  if (bias) {
    node.args.push_back(*bias);
    node.args.back().layout = {{columns_of(*product)}, {1}, bias->layout.offset};
  }
  return node;
}

bool has_tensor_operand(const std::vector<Arg>& args) {
  for (const Arg& arg : args) {
    if (arg.is_tensor()) return true;
  }
  return false;
}

/// Returns the operand that a node computes element by element, if it has one tensor operand; null for any other node.
const Arg* mapped_operand(const Node& node) {
  if (node.is_input || node.has_parts() || node.may_fail() || !is_elementwise(node.def())) return nullptr;
  const Arg* only = nullptr;
  for (const Arg& arg : node.args) {
    if (!arg.is_tensor()) continue;
    if (only) return nullptr;
    only = &arg;
  }
  return only;
}

/// Whether a node's elements are in memory even if nothing takes single ones.
bool is_in_memory(const Node& node) { return node.is_input || node.def().traits.fuses_as == FusesAs::nothing; }

/// Returns what a take of a function reads if it takes from the function's operand; none if that is not linear.
std::optional<Layout> layout_before(const Graph& graph, const Arg& taken, NodeId function) {
  const Arg& operand = *mapped_operand(graph[function]);
  if (reads_all_in_order(graph, operand)) return taken.layout;
  const std::optional<IndexFunction> index = index_function(taken.layout, {}, graph[function].shape);
  return index ? composed(operand.layout, *index, taken.layout.shape) : std::nullopt;
}

/// Returns the functions, the last one first, before which node `id` can take its elements: the functions then compute
/// what is taken alone, and memory holds their operand, which is there anyway or smaller. Empty for any other node.
std::vector<NodeId> functions_after_take(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.is_input || node.op != Op::take || !node.args[0].is_tensor()) return {};
  const Node& source = graph[node.args[0].node];
  if (element_count(node.shape).hint() > element_count(source.shape).hint()) return {};
  std::vector<NodeId> functions;
  size_t count = 0;
  NodeId at = node.args[0].node;
  while (const Arg* operand = mapped_operand(graph[at])) {
    const bool is_view = !reads_all_in_order(graph, *operand);
    if (is_view && !layout_before(graph, node.args[0], at)) break;
    functions.push_back(at);
    at = operand->node;
    if (is_in_memory(graph[at]) || size_of(graph[at].dtype) < size_of(source.dtype)) count = functions.size();
    if (is_view) break;  // its operand has elements in another order
  }
  functions.resize(count);
  return functions;
}

/// Replaces node `id` by the functions of what it takes of their operand.
void take_before(const Graph& graph, NodeId id, const std::vector<NodeId>& functions, Copier& copier) {
  Node take = graph[id];
  take.args[0].layout = *layout_before(graph, take.args[0], functions.back());
  take.args[0].node = mapped_operand(graph[functions.back()])->node;
  take.dtype = graph[take.args[0].node].dtype;
  for (Arg& arg : take.args) {
    if (arg.is_tensor()) arg.node = copier.renamed(arg.node);
  }
  NodeId last = copier.add(std::move(take));
  for (size_t i = functions.size(); i-- > 0;) {
    Node function = graph[functions[i]];
    function.shape = graph[id].shape;
    function.order = graph[id].order;
    for (Arg& arg : function.args) {
      if (arg.is_tensor()) arg = all_of(last, function.shape);
    }
    last = copier.add(std::move(function));
  }
  copier.replace(id, last);
}

/// Makes takes of functions functions of takes.
Graph take_first(Graph graph) {
  NodeId first = 0;
  while (first < graph.size() && functions_after_take(graph, first).empty()) ++first;
  if (first == graph.size()) return graph;
  Copier copier(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::vector<NodeId> functions = functions_after_take(graph, id);
    if (functions.empty()) copier.keep(id);
    else take_before(graph, id, functions, copier);
  }
  return dead_code(copier.finish());
}

bool is_fill(const Node& node) { return !node.is_input && node.op == Op::fill; }

/// Whether the node can take constants as operands and can be folded to a constant.
bool computes_elements(const Node& node) { return !node.is_input && is_elementwise(node.def()) && node.op != Op::copy; }

/// Whether the node is an argmax or argmin of one element, whose result is always 0.
bool finds_only_place(const Node& node) {
  return !node.is_input && (node.op == Op::argmax || node.op == Op::argmin) && reduced_count(node) == 1;
}

/// Whether each row of a scan is one element: the result has the operand's elements.
bool scans_one(const Node& node) {
  const bool is_scan = !node.is_input && (node.op == Op::cumsum || node.op == Op::cumprod);
  return is_scan && node.shape[static_cast<int>(node.attrs.axis)].hint() == 1;
}

/// Makes the node that has the elements of a node's operand.
Node elements_like(const Graph& graph, Node node) {
  node.op = graph[node.args[0].node].dtype == node.dtype ? Op::copy : Op::cast;
  node.attrs = {};
  if (node.op == Op::cast) node.attrs.dtype = node.dtype;
  return node;
}

/// Whether simplify() would change the graph at this node.
bool may_simplify(const Graph& graph, const Node& node) {
  if (computes_elements(node) && !has_tensor_operand(node.args)) return true;
  return is_fill(node) || finds_only_place(node) || scans_one(node) || repeated_operand(graph, node) != kNoNode;
}

}  // namespace

bool reads_all_in_order(const Graph& graph, const Arg& arg) {
  return arg.layout.offset.same(0) && arg.layout.is_contiguous() &&
         element_count(arg.layout.shape).hint() == element_count(graph[arg.node].shape).hint();
}

Graph with_sizes(const Graph& graph, std::span<const Scalar> symbols, const SizeLimits& limits) {
  Copier copier(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    Node node = graph[id];
    set_sizes(node.shape, symbols);
    set_sizes(node.input_layout, symbols);
    node.attrs.for_each_size([&](Dim& size) { size = size.in_run(symbols); });
    set_sizes(node.attrs.view, symbols);
    for (Arg& arg : node.args) {
      if (!arg.is_tensor()) continue;
      set_sizes(arg.layout, symbols);
      check_size(node.def().name, graph[arg.node].dtype, arg.layout.shape, {.elements = limits.elements});
    }
    if (!node.is_input) check_size(node.def().name, node.dtype, node.shape, limits);
    copier.keep(id, std::move(node));
  }
  Graph out = copier.finish();
  for (Output& output : out.outputs) set_sizes(output.layout, symbols);
  return out;
}

Graph dead_code(Graph graph, const std::function<void(const Node&)>& eliminated) {
  std::vector<bool> live(graph.size(), false);
  for (const Output& out : graph.outputs) live[out.node] = true;
  for (NodeId id = graph.size(); id-- > 0;) {
    const Node& node = graph[id];
    if (node.is_input) live[id] = true;  // inputs keep their numbers
    else if (node.may_fail() || node.is_of_program()) live[id] = true;
    if (!live[id]) continue;
    for (const Arg& arg : node.args) {
      if (arg.is_tensor()) live[arg.node] = true;
    }
  }
  if (std::find(live.begin(), live.end(), false) == live.end()) return graph;
  Copier copier(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (live[id]) copier.keep(id);
    else if (eliminated && !graph[id].is_result()) eliminated(graph[id]);
  }
  return copier.finish();
}

Graph decompose(Graph graph) {
  const auto is_short = [&](NodeId id) {
    const Node& node = graph[id];
    return !node.is_input && node.op == Op::logsumexp && reduced_count(node) <= kReduceBlock;
  };
  NodeId first = 0;
  while (first < graph.size() && !is_short(first)) ++first;
  if (first == graph.size()) return graph;
  Copier copier(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (is_short(id)) decompose_logsumexp(graph, id, copier);
    else copier.keep(id);
  }
  return copier.finish();
}

bool may_unroll(const Node& node) {
  if (node.is_input || !is_reduction(node.def()) || !node.def().step) return false;
  const int64_t count = reduced_count(node);
  return count > 0 && count <= kMaxUnrolled && (count == 1 || !node.args[0].layout.offset.symbol());
}

Graph unroll(const Graph& graph, const std::function<bool(NodeId)>& chosen) {
  Copier copier(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (chosen(id)) unroll_reduction(graph, id, copier);
    else copier.keep(id);
  }
  return dead_code(copier.finish());
}

Graph simplify(Graph graph) {
  bool is_simple = true;
  for (NodeId id = 0; id < graph.size() && is_simple; ++id) is_simple = !may_simplify(graph, graph[id]);
  if (is_simple) return take_first(std::move(graph));
  Copier copier(graph);
  // Nodes that are one constant everywhere. Such a constant can be a scalar operand instead: fill() rounds to the dtype
  // exactly as a scalar operand of that dtype does.
  std::vector<const Arg*> constants(graph.size(), nullptr);
  std::deque<Arg> made;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NodeId same = repeated_operand(graph, graph[id]);
    if (same != kNoNode) {
      copier.alias(id, same);
      continue;
    }
    Node node = graph[id];
    if (is_fill(node)) constants[id] = &graph[id].args[0];
    if (finds_only_place(node)) {
      made.emplace_back().scalar = Scalar::of(int64_t{0});
      constants[id] = &made.back();
      copier.keep(id, fill_like(node, made.back()));
      continue;
    }
    if (scans_one(node)) node = elements_like(graph, std::move(node));
    if (computes_elements(node)) {
      std::vector<Arg> before;  // the original operands, if constants replaced some
      const auto is_constant = [&](const Arg& arg) { return arg.is_tensor() && constants[arg.node]; };
      if (std::any_of(node.args.begin(), node.args.end(), is_constant)) before = node.args;
      for (Arg& arg : node.args) {
        if (is_constant(arg)) arg = *constants[arg.node];
      }
      if (const std::optional<Scalar> value = folded(node)) {
        made.emplace_back().scalar = *value;
        constants[id] = &made.back();
        copier.keep(id, fill_like(node, made.back()));
        continue;
      }
      // An op gets its dtype from a tensor operand, and the condition of `where` must be a tensor.
      const bool keeps_dtype = has_tensor_operand(node.args) && (node.op != Op::where || node.args[0].is_tensor());
      if (!keeps_dtype && !before.empty()) node.args = std::move(before);
    }
    copier.keep(id, std::move(node));
  }
  return take_first(dead_code(copier.finish()));
}

Graph absorb_epilogues(Graph graph, const std::function<bool(const Node&)>& has_epilogue) {
  const std::vector<Uses> uses = uses_of(graph);
  Copier copier(graph);
  bool changes = false;
  for (NodeId id = 0; id < graph.size(); ++id) {
    std::optional<Node> product = with_epilogue(graph, uses, id);
    if (product && has_epilogue(*product)) {
      copier.keep(id, std::move(*product));
      changes = true;
    } else {
      copier.keep(id);
    }
  }
  if (!changes) return graph;
  return dead_code(copier.finish());  // removes what was absorbed
}

}  // namespace tsl::graph
