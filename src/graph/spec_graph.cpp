// The rules of the graph.
#include <algorithm>

#include <fmt/format.h>

#include "graph/dump.h"
#include "graph/passes/passes.h"
#include "graph/spec_rules.h"

namespace tsl::graph {

namespace spec {

Reach memory_of(const Node& node) {
  Reach memory;
  if (is_empty(node.shape)) return {0, -1};
  if (!node.is_input) return {0, count_of(node.shape) - 1};
  for (int i = 0; i < node.shape.rank(); ++i) { memory.add(node.shape[i].hint(), node.input_layout.strides[i].hint()); }
  return memory;
}

bool fits(const Layout& layout, const Reach& memory) {
  const std::optional<Reach> reach = reach_of(layout);
  if (!reach) return true;
  if (layout.offset.symbol()) return reach->last - reach->first <= memory.last - memory.first;
  return memory.holds(*reach, layout.offset.hint());
}

}  // namespace spec

namespace {

using namespace spec;

struct NodeSubject {
  const Graph& graph;
  NodeId id;
  const Node& node;

  const Node& producer(const Arg& arg) const { return graph[arg.node]; }
  std::string dump() const {
    return graph::dump(graph, id, nullptr) + "\nof the graph\n" + graph::dump(graph, nullptr);
  }
};

struct OutputSubject {
  const Graph& graph;
  const Output& output;

  std::string dump() const {
    return fmt::format("output %{} of the graph\n", output.node) + graph::dump(graph, nullptr);
  }
};

using NodeRule = Rule<NodeSubject>;

bool is(const NodeSubject& s, Op op) { return !s.node.is_input && s.node.op == op; }
bool is_elementwise(const NodeSubject& s) { return !s.node.is_input && tsl::is_elementwise(s.node.def()); }
bool is_source(const NodeSubject& s) { return !s.node.is_input && s.node.def().traits.fuses_as == FusesAs::source; }
bool is_scatter(const NodeSubject& s) { return is(s, Op::scatter) || is(s, Op::scatter_add); }

/// Whether `holds` is true for every tensor operand.
template <class Holds> bool all_tensors(const NodeSubject& s, Holds&& holds) {
  return std::all_of(s.node.args.begin(), s.node.args.end(),
                     [&](const Arg& arg) { return !arg.is_tensor() || holds(arg); });
}

template <class Holds> bool all_numbers(const NodeSubject& s, Holds&& holds) {
  return std::all_of(s.node.args.begin(), s.node.args.end(),
                     [&](const Arg& arg) { return arg.is_tensor() || holds(arg); });
}

bool tensors_have(const NodeSubject& s, DType dtype) {
  return all_tensors(s, [&](const Arg& arg) { return s.producer(arg).dtype == dtype; });
}

/// Whether the op is elementwise with this dtype rule. cast and copy follow none.
bool follows(const NodeSubject& s, DTypeRule rule) {
  return !s.node.is_input && s.node.def().traits.operands == OperandRule::promoted && s.node.def().dtype_rule == rule;
}

bool has_arity(const NodeSubject& s) {
  if (s.node.is_input) return s.node.args.empty();
  if (s.node.has_parts()) return s.node.parts.within.size() == s.node.args.size();
  const int operands = static_cast<int>(s.node.args.size()) - s.node.epilogue.bias;
  if (s.node.is_of_program() && operands == s.node.def().arity + 1)
    return s.producer(s.node.args.back()).is_of_program();
  return s.node.def().arity < 0 ? operands > 0 : s.node.def().arity == operands;
}

bool has_sizes_that_are_numbers(const NodeSubject& s) {
  const Attrs& attrs = s.node.attrs;
  bool all_numbers = true;
  attrs.for_each_size([&](Dim size) { all_numbers = all_numbers && !size.symbol(); });
  return all_numbers && are_numbers(s.node.shape) && are_numbers(s.node.input_layout.strides) &&
         are_numbers(attrs.view.shape) && are_numbers(attrs.view.strides) && all_tensors(s, [](const Arg& arg) {
           return are_numbers(arg.layout.shape) && are_numbers(arg.layout.strides);
         });
}

bool has_known_symbols(const NodeSubject& s) {
  const Attrs& attrs = s.node.attrs;
  return is_known(attrs.view.offset.symbol()) &&
         std::all_of(s.node.args.begin(), s.node.args.end(),
                     [](const Arg& arg) { return is_known(arg.symbol) && is_known(arg.layout.offset.symbol()); });
}

bool is_copy_if_it_has_parts(const NodeSubject& s) {
  return !s.node.has_parts() || (!s.node.is_input && s.node.op == Op::copy && s.node.args.size() <= kMaxParts);
}

bool has_bounds_of_its_axes(const NodeSubject& s) {
  return std::all_of(s.node.parts.within.begin(), s.node.parts.within.end(), [&](const Bounds& bounds) {
    return std::all_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
      return bound.steps.size() == static_cast<size_t>(s.node.shape.rank()) && bound.low < bound.high;
    });
  });
}

/// Whether each operand's layout accesses only the operand's memory: that of a part, within its bounds.
bool reaches_its_operands(const NodeSubject& s) {
  if (!s.node.has_parts())
    return all_tensors(s, [&](const Arg& arg) { return fits(arg.layout, memory_of(s.producer(arg))); });
  for (size_t i = 0; i < s.node.args.size(); ++i) {
    const Arg& arg = s.node.args[i];
    if (!arg.is_tensor()) continue;
    const std::optional<Reach> reach = reach_within(arg.layout.shape, arg.layout.strides, s.node.parts.within[i]);
    if (arg.layout.offset.symbol()) return false;
    if (reach && !memory_of(s.producer(arg)).holds(*reach, arg.layout.offset.hint())) return false;
  }
  return true;
}

/// Returns the types that the op table infers for these operands, or nothing if it rejects them.
std::optional<ResultTypes> inferred(const NodeSubject& s) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < s.node.args.size() - s.node.epilogue.bias; ++i) {
    const Arg& arg = s.node.args[i];
    if (arg.is_tensor()) operands.emplace_back(Tensor(s.producer(arg).dtype, arg.layout, nullptr));
    else operands.emplace_back(arg.scalar);
  }
  try {
    return infer_all(s.node.def(), operands, s.node.attrs);
  } catch (const Failure&) { return std::nullopt; }
}

bool has_inferred_type(const NodeSubject& s) {
  // These have rules of their own: the op table would need the part's offset, which may be known only in a run.
  if (s.node.is_input || is_elementwise(s) || is(s, Op::assign_view)) return true;
  const NodeId of = s.node.is_result() ? s.node.args[0].node : s.id;
  const std::optional<ResultTypes> types = inferred({s.graph, of, s.graph[of]});
  if (!types) return false;
  const TensorType& type = (*types)[s.node.result];
  return type.dtype == s.node.dtype && same(type.shape, s.node.shape);
}

/// Whether results are read of ops that have them, and nothing else reads such an op.
bool reads_results_apart(const NodeSubject& s) {
  if (!s.node.is_result())
    return s.node.result == 0 && all_tensors(s, [&](const Arg& arg) { return !s.producer(arg).has_results(); });
  const Node& of = s.producer(s.node.args[0]);
  return of.has_results() && s.node.result < of.def().results;
}

bool multiplies_matrices(const NodeSubject& s) {
  if (!is(s, Op::matmul)) return true;
  const Shape &a = s.node.args[0].layout.shape, &b = s.node.args[1].layout.shape;
  const int rank = a.rank();
  if (rank < 2 || b.rank() != rank || a[rank - 1].hint() != b[rank - 2].hint()) return false;
  return std::equal(a.begin(), a.end() - 2, b.begin(), [](Dim x, Dim y) { return x.hint() == y.hint(); });
}

bool takes_axes_once(const NodeSubject& s) {
  if (s.node.is_input || s.node.def().traits.axis != AxisUse::axes) return true;
  const Ints& axes = s.node.attrs.axes;
  const int rank = s.node.args[0].layout.rank();
  return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return axis >= 0 && axis < rank; }) &&
         std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) == axes.end();
}

bool has_axis(const NodeSubject& s) {
  if (s.node.is_input) return true;
  const AxisUse use = s.node.def().traits.axis;
  if (use != AxisUse::axis && use != AxisUse::batch) return true;
  const int64_t axis = use == AxisUse::axis ? s.node.attrs.axis : s.node.attrs.batch;
  return axis >= 0 && axis < s.node.args[0].layout.rank();
}

bool scatters_what_a_take_would_read(const NodeSubject& s) {
  if (!is_scatter(s)) return true;
  const Shape &x = s.node.args[0].layout.shape, &index = s.node.args[1].layout.shape;
  const auto batch = static_cast<int>(s.node.attrs.batch);
  Shape wanted = index;
  for (int i = batch + 1; i < x.rank(); ++i) wanted.push_back(x[i]);
  return same(s.node.args[2].layout.shape, wanted);
}

bool has_bias_of_columns(const NodeSubject& s) {
  if (!s.node.epilogue.bias) return true;
  const Arg& bias = s.node.args.back();
  return bias.is_tensor() && s.producer(bias).dtype == s.node.dtype && bias.layout.rank() == 1 &&
         bias.layout.shape[0].hint() == s.node.shape[s.node.shape.rank() - 1].hint();
}

bool has_activation(const NodeSubject& s) {
  const Op op = s.node.epilogue.activation;
  return op == Op::copy || Epilogue::is_activation(op);
}

bool is_listed(const NodeSubject& s) {
  const std::vector<NodeId>& inputs = s.graph.inputs();
  return s.node.is_input == std::binary_search(inputs.begin(), inputs.end(), s.id);
}

constexpr NodeRule kNodeRules[] = {
    {"A node's op is in the op table.", [](const NodeSubject& s) { return s.node.op < Op::count_; }},
    {"Inputs, and no other nodes, are in the list of inputs.", is_listed},
    {"A node has as many operands as its op takes, and after them the one before it in the program's order; an input "
     "has none.",
     has_arity},
    {"An operand is computed before it is read.",
     [](const NodeSubject& s) { return all_tensors(s, [&](const Arg& arg) { return arg.node < s.id; }); }},
    {"Each of several results is a node, and only such nodes read an op that has them.", reads_results_apart},
    {"A view is a layout, not a node.", [](const NodeSubject& s) { return s.node.is_input || !s.node.def().view; }},
    {"A graph runs on one device: no node moves a tensor.", [](const NodeSubject& s) { return !is(s, Op::to_device); }},
    {"A span ends after it begins, or is empty.",
     [](const NodeSubject& s) { return s.node.span.valid() || s.node.span.begin == s.node.span.end; }},
    {"Extents, strides and sizes are numbers: only offsets and scalars are symbols.", has_sizes_that_are_numbers},
    {"Extents are not negative.",
     [](const NodeSubject& s) {
       return std::all_of(s.node.shape.begin(), s.node.shape.end(), [](Dim d) { return d.hint() >= 0; });
     }},
    {"A symbol belongs to a table of symbols.", has_known_symbols},
    {"A number has the type of its symbol.",
     [](const NodeSubject& s) {
       return all_numbers(s, [](const Arg& arg) { return !arg.symbol || arg.symbol->hint.type == arg.scalar.type; });
     }},
    {"An input's layout has the input's shape and begins at offset 0.",
     [](const NodeSubject& s) {
       const Layout& layout = s.node.input_layout;
       return !s.node.is_input ||
              (same(layout.shape, s.node.shape) && layout.strides.rank() == layout.rank() && layout.offset.same(0));
     }},
    {"A layout has a stride for each axis.",
     [](const NodeSubject& s) {
       return all_tensors(s, [](const Arg& arg) { return arg.layout.strides.rank() == arg.layout.rank(); });
     }},
    {"Only a copy has parts, and not too many.", is_copy_if_it_has_parts},
    {"A part's bounds have a step for each axis, and are not empty.", has_bounds_of_its_axes},
    {"A layout reaches no element outside the memory of the node that it reads.", reaches_its_operands},
    {"A source computes from numbers.",
     [](const NodeSubject& s) { return !is_source(s) || all_tensors(s, [](const Arg&) { return false; }); }},
    {"Only sources and elementwise ops that promote take numbers.",
     [](const NodeSubject& s) {
       const bool may = s.node.is_input || s.node.has_parts() || is_source(s) ||
                        s.node.def().traits.operands == OperandRule::promoted;
       return may || all_numbers(s, [](const Arg&) { return false; });
     }},
    {"An elementwise op reads at least one tensor.",
     [](const NodeSubject& s) {
       return !is_elementwise(s) || s.node.has_parts() || !all_tensors(s, [](const Arg&) { return false; });
     }},
    {"An elementwise op reads tensors of its own shape: broadcasts are layouts.",
     [](const NodeSubject& s) {
       return !is_elementwise(s) ||
              all_tensors(s, [&](const Arg& arg) { return same(arg.layout.shape, s.node.shape); });
     }},
    {"An op on any numbers has operands of its own dtype, which is not bool.",
     [](const NodeSubject& s) {
       return !follows(s, DTypeRule::same) || (s.node.dtype != DType::boolean && tensors_have(s, s.node.dtype));
     }},
    {"An arithmetic op has operands of its own dtype.",
     [](const NodeSubject& s) { return !follows(s, DTypeRule::arithmetic) || tensors_have(s, s.node.dtype); }},
    {"A floating op has operands of its own dtype, which is a float.",
     [](const NodeSubject& s) {
       return !follows(s, DTypeRule::floating) || (is_float(s.node.dtype) && tensors_have(s, s.node.dtype));
     }},
    {"A comparison has operands of one dtype and gives bools.",
     [](const NodeSubject& s) {
       if (!follows(s, DTypeRule::compare)) return true;
       const auto first =
           std::find_if(s.node.args.begin(), s.node.args.end(), [](const Arg& arg) { return arg.is_tensor(); });
       return s.node.dtype == DType::boolean && tensors_have(s, s.producer(*first).dtype);
     }},
    {"A predicate asks floats and gives bools.",
     [](const NodeSubject& s) {
       return !follows(s, DTypeRule::predicate) ||
              (s.node.dtype == DType::boolean &&
               all_tensors(s, [&](const Arg& arg) { return is_float(s.producer(arg).dtype); }));
     }},
    {"A bitwise op has operands of its own dtype, which is not a float.",
     [](const NodeSubject& s) {
       return !follows(s, DTypeRule::bitwise) || (!is_float(s.node.dtype) && tensors_have(s, s.node.dtype));
     }},
    {"A shift has operands of its own dtype, which is an integer.",
     [](const NodeSubject& s) {
       return !follows(s, DTypeRule::shift) || (is_integer(s.node.dtype) && tensors_have(s, s.node.dtype));
     }},
    {"The condition of a select is a tensor of bools.",
     [](const NodeSubject& s) {
       if (!follows(s, DTypeRule::select)) return true;
       const Arg& condition = s.node.args[0];
       return condition.is_tensor() && s.producer(condition).dtype == DType::boolean;
     }},
    {"What a select chooses from has its own dtype.",
     [](const NodeSubject& s) {
       if (!follows(s, DTypeRule::select)) return true;
       return std::all_of(s.node.args.begin() + 1, s.node.args.end(),
                          [&](const Arg& arg) { return !arg.is_tensor() || s.producer(arg).dtype == s.node.dtype; });
     }},
    {"A cast gives the dtype that it names.",
     [](const NodeSubject& s) {
       return s.node.is_input || s.node.op != Op::cast || s.node.attrs.dtype == s.node.dtype;
     }},
    {"A copy keeps the dtype.",
     [](const NodeSubject& s) { return s.node.is_input || s.node.op != Op::copy || tensors_have(s, s.node.dtype); }},
    {"The axes of a reduction are its operand's, each once and in order.", takes_axes_once},
    {"An op along an axis names one of its first operand's.", has_axis},
    {"An index holds i64.",
     [](const NodeSubject& s) {
       const bool indexes = !s.node.is_input && s.node.def().traits.needs == InputNeed::index;
       return !indexes || s.producer(s.node.args[1]).dtype == DType::i64;
     }},
    {"A matmul multiplies matrices of equal batches and inner extents.", multiplies_matrices},
    {"The result's dtype and shape are those that the op table infers.", has_inferred_type},
    {"The operands of a matmul have its dtype.",
     [](const NodeSubject& s) {
       if (!is(s, Op::matmul)) return true;
       return s.producer(s.node.args[0]).dtype == s.node.dtype && s.producer(s.node.args[1]).dtype == s.node.dtype;
     }},
    {"The parts of a concat have its dtype.",
     [](const NodeSubject& s) { return !is(s, Op::concat) || tensors_have(s, s.node.dtype); }},
    {"What is scattered has the dtype of the result.",
     [](const NodeSubject& s) { return !is_scatter(s) || s.producer(s.node.args[2]).dtype == s.node.dtype; }},
    {"What is scattered has the shape that a take of the index would have.", scatters_what_a_take_would_read},
    {"An assignment has the dtype and shape of what it changes a part of.",
     [](const NodeSubject& s) {
       if (!is(s, Op::assign_view)) return true;
       const Arg& x = s.node.args[0];
       return s.producer(x).dtype == s.node.dtype && same(x.layout.shape, s.node.shape);
     }},
    {"A part that is assigned lies within the result.",
     [](const NodeSubject& s) {
       return !is(s, Op::assign_view) || fits(s.node.attrs.view, {0, count_of(s.node.shape) - 1});
     }},
    {"What is assigned to a part has the dtype and shape of the part.",
     [](const NodeSubject& s) {
       if (!is(s, Op::assign_view)) return true;
       const Arg& value = s.node.args[1];
       return s.producer(value).dtype == s.node.dtype && same(value.layout.shape, s.node.attrs.view.shape);
     }},
    {"Only a matmul that sums in f32 has an epilogue.",
     [](const NodeSubject& s) {
       if (s.node.epilogue == Epilogue()) return true;
       return is(s, Op::matmul) && is_float(s.node.dtype) && accumulator_of(s.node.dtype) == DType::f32;
     }},
    {"An epilogue's bias has an element for each column of the result.", has_bias_of_columns},
    {"An epilogue's activation is relu, gelu_tanh or none.", has_activation},
};

constexpr Rule<OutputSubject> kOutputRules[] = {
    {"An output is a node of the graph.", [](const OutputSubject& s) { return s.output.node < s.graph.size(); }},
    {"An output is one tensor.", [](const OutputSubject& s) { return !s.graph[s.output.node].has_results(); }},
    {"An output's layout has a stride for each axis, and sizes that are numbers.",
     [](const OutputSubject& s) {
       const Layout& layout = s.output.layout;
       return layout.strides.rank() == layout.rank() && are_numbers(layout.shape) && are_numbers(layout.strides) &&
              is_known(layout.offset.symbol());
     }},
    {"An output's layout reaches no element outside the memory of its node.",
     [](const OutputSubject& s) { return fits(s.output.layout, memory_of(s.graph[s.output.node])); }},
};

/// Whether a node of a pruned graph is used.
struct UseSubject : NodeSubject {
  bool is_used;
};

constexpr Rule<UseSubject> kUseRules[] = {
    {"After dead code, a node is an input, is read, is an output, may fail, or is of the program's order.",
     [](const UseSubject& s) { return s.is_used || s.node.is_input || s.node.may_fail() || s.node.is_of_program(); }},
};

std::vector<bool> used_nodes(const Graph& graph) {
  std::vector<bool> used(graph.size(), false);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Arg& arg : graph[id].args) {
      if (arg.is_tensor()) used[arg.node] = true;
    }
  }
  for (const Output& output : graph.outputs) used[output.node] = true;
  return used;
}

}  // namespace

void spec::add_graph_sentences(std::vector<const char*>& sentences) {
  add_sentences<NodeSubject>(kNodeRules, sentences);
  add_sentences<OutputSubject>(kOutputRules, sentences);
  add_sentences<UseSubject>(kUseRules, sentences);
}

void verify(const Graph& graph, const char* pass, bool is_pruned) {
  for (NodeId id = 0; id < graph.size(); ++id) check<NodeSubject>(kNodeRules, {graph, id, graph[id]}, pass);
  for (const Output& output : graph.outputs) check<OutputSubject>(kOutputRules, {graph, output}, pass);
  if (!is_pruned) return;
  const std::vector<bool> used = used_nodes(graph);
  for (NodeId id = 0; id < graph.size(); ++id) check<UseSubject>(kUseRules, {{graph, id, graph[id]}, used[id]}, pass);
}

}  // namespace tsl::graph
