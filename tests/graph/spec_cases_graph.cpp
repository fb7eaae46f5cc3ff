#include "graph/spec.h"
#include "spec_cases.h"
#include "support/build.h"

namespace tsl::graph {

namespace {

using Build = void (*)(Graph&);

/// Adds a node of a given type.
NodeId node(Graph& g, Op op, std::vector<Arg> args, DType dtype, const Shape& shape, const Attrs& attrs = {}) {
  return g.add(op_def(op), std::move(args), attrs, {dtype, shape}, Span{}, g.size());
}

/// Returns attributes with this axis.
Attrs along(int64_t axis) {
  Attrs attrs;
  attrs.axis = attrs.batch = axis;
  attrs.axes = {axis};
  return attrs;
}

const Shape kShape{4, 5};

/// Adds exp(x), to be made invalid.
Node& exponential(Graph& g) {
  const NodeId y = add(g, Op::exp, {read(g, input(g, kShape))});
  give(g, y);
  return g[y];
}

/// Adds a pad of [2, 3] by zeros, as parts.
Node& padded(Graph& g) {
  const NodeId x = input(g, {2, 3});
  Node node;
  node.op = Op::copy;
  node.shape = kShape;
  node.args = {number(0.0), read(g, x)};
  node.args[1].layout = {kShape, {3, 1}, -4};
  node.parts = {Op::assign_view, {{}, {{{1, 0}, 1, 3}, {{0, 1}, 1, 4}}}};
  const NodeId y = g.add(std::move(node));
  give(g, y);
  return g[y];
}

/// Adds the sort of a row, whose results are values and their order.
NodeId sorted(Graph& g) {
  Attrs attrs = along(0);
  attrs.count = 4;
  return node(g, Op::sort, {read(g, input(g, {4}))}, DType::f32, {4}, attrs);
}

/// Adds x + 1.0, and returns the number.
Arg& added_number(Graph& g) {
  const NodeId y = add(g, Op::add, {read(g, input(g, kShape)), number(1.0)});
  give(g, y);
  return g[y].args[1];
}

/// Adds a product with an epilogue.
Node& product(Graph& g, std::vector<Arg> bias = {}) {
  const NodeId a = input(g, {2, 3}), b = input(g, {3, 4});
  const NodeId y = node(g, Op::matmul, {read(g, a), read(g, b)}, DType::f32, {2, 4});
  give(g, y);
  g[y].epilogue.bias = !bias.empty();
  for (Arg& arg : bias) g[y].args.push_back(std::move(arg));
  return g[y];
}

/// Adds a scatter of updates into rows of [4, 5].
void scatter(Graph& g, DType dtype, const Shape& shape) {
  const NodeId x = input(g, kShape), index = input(g, {2}, DType::i64), updates = input(g, shape, dtype);
  give(g, node(g, Op::scatter, {read(g, x), read(g, index), read(g, updates)}, DType::f32, kShape, along(0)));
}

/// Adds an assignment to a part of [4, 5].
void assign(Graph& g, const Layout& part, const Shape& value, const Shape& result) {
  const NodeId x = input(g, kShape), y = input(g, value);
  Attrs attrs;
  attrs.view = part;
  give(g, node(g, Op::assign_view, {read(g, x), read(g, y)}, DType::f32, result, attrs));
}

SymbolTable& symbols() {
  static SymbolTable table;
  return table;
}

struct GraphCase {
  const char* rule;
  Build build;
};

const GraphCase kNodeCases[] = {
    {"A node's op is in the op table.", [](Graph& g) { exponential(g).op = Op::count_; }},
    {"Inputs, and no other nodes, are in the list of inputs.", [](Graph& g) { exponential(g).is_input = true; }},
    {"A node has as many operands as its op takes, and after them the one before it in the program's order; an input "
     "has "
     "none.",
     [](Graph& g) { exponential(g).args.clear(); }},
    {"A node has as many operands as its op takes, and after them the one before it in the program's order; an input "
     "has "
     "none.",
     [](Graph& g) {
       const NodeId x = input(g, kShape);
       give(g, add(g, Op::sum_ranks, {read(g, x), read(g, x)}));  // an input has no place in that order
     }},
    {"An operand is computed before it is read.", [](Graph& g) { exponential(g).args[0].node = 1; }},
    {"Each of several results is a node, and only such nodes read an op that has them.",
     [](Graph& g) { give(g, add(g, Op::exp, {read(g, sorted(g))})); }},
    {"Each of several results is a node, and only such nodes read an op that has them.",
     [](Graph& g) {
       give(g, g.add_result(sorted(g), 2, {DType::f32, {4}}));
     }},
    {"The result's dtype and shape are those that the op table infers.",
     [](Graph& g) {
       give(g, g.add_result(sorted(g), 1, {DType::f32, {4}}));
     }},
    {"A view is a layout, not a node.", [](Graph& g) { exponential(g).op = Op::permute; }},
    {"A graph runs on one device: no node moves a tensor.", [](Graph& g) { exponential(g).op = Op::to_device; }},
    {"A span ends after it begins, or is empty.",
     [](Graph& g) {
       exponential(g).span = {0, 5, 3};
     }},
    {"Extents, strides and sizes are numbers: only offsets and scalars are symbols.",
     [](Graph& g) { exponential(g).shape[0] = symbols().size_input(4); }},
    {"Extents are not negative.", [](Graph& g) { exponential(g).shape[0] = -4; }},
    {"A symbol belongs to a table of symbols.", [](Graph& g) { added_number(g).symbol = orphan(); }},
    {"A number has the type of its symbol.",
     [](Graph& g) { added_number(g).symbol = symbols().input(Scalar::of(int64_t{1})); }},
    {"An input's layout has the input's shape and begins at offset 0.",
     [](Graph& g) { g[input(g, kShape)].input_layout.offset = 1; }},
    {"A layout has a stride for each axis.", [](Graph& g) { exponential(g).args[0].layout.strides = {1}; }},
    {"A layout reaches no element outside the memory of the node that it reads.",
     [](Graph& g) { exponential(g).args[0].layout.offset = 1; }},
    {"A source computes from numbers.",
     [](Graph& g) {
       Attrs attrs;
       attrs.shape = kShape;
       node(g, Op::fill, {read(g, input(g, kShape))}, DType::f32, kShape, attrs);
     }},
    {"Only sources and elementwise ops that promote take numbers.",
     [](Graph& g) { node(g, Op::cumsum, {number(1.0)}, DType::f32, kShape, along(0)); }},
    {"An elementwise op reads at least one tensor.",
     [](Graph& g) {
       node(g, Op::add, {number(1.0), number(2.0)}, DType::f32, kShape);
     }},
    {"An elementwise op reads tensors of its own shape: broadcasts are layouts.",
     [](Graph& g) {
       const NodeId x = input(g, {4}), y = input(g, {2});
       node(g, Op::add, {read(g, x), read(g, y)}, DType::f32, {4});
     }},
};

const GraphCase kDTypeCases[] = {
    {"An op on any numbers has operands of its own dtype, which is not bool.",
     [](Graph& g) { node(g, Op::neg, {read(g, input(g, kShape, DType::boolean))}, DType::boolean, kShape); }},
    {"An arithmetic op has operands of its own dtype.",
     [](Graph& g) {
       node(g, Op::add, {read(g, input(g, kShape)), number(1.0)}, DType::i32, kShape);
     }},
    {"A floating op has operands of its own dtype, which is a float.",
     [](Graph& g) { exponential(g).dtype = DType::f64; }},
    {"A comparison has operands of one dtype and gives bools.",
     [](Graph& g) {
       node(g, Op::lt, {read(g, input(g, kShape)), number(1.0)}, DType::f32, kShape);
     }},
    {"A predicate asks floats and gives bools.",
     [](Graph& g) { node(g, Op::isnan, {read(g, input(g, kShape, DType::i32))}, DType::boolean, kShape); }},
    {"A bitwise op has operands of its own dtype, which is not a float.",
     [](Graph& g) { node(g, Op::bit_not, {read(g, input(g, kShape))}, DType::f32, kShape); }},
    {"A shift has operands of its own dtype, which is an integer.",
     [](Graph& g) {
       const Arg x = read(g, input(g, kShape, DType::boolean));
       node(g, Op::left_shift, {x, x}, DType::boolean, kShape);
     }},
    {"The condition of a select is a tensor of bools.",
     [](Graph& g) {
       node(g, Op::where, {read(g, input(g, kShape)), number(1.0), number(2.0)}, DType::f32, kShape);
     }},
    {"What a select chooses from has its own dtype.",
     [](Graph& g) {
       const NodeId condition = input(g, kShape, DType::boolean), x = input(g, kShape, DType::i32);
       node(g, Op::where, {read(g, condition), read(g, x), number(2.0)}, DType::f32, kShape);
     }},
    {"A cast gives the dtype that it names.",
     [](Graph& g) {
       Attrs attrs;
       attrs.dtype = DType::i32;
       node(g, Op::cast, {read(g, input(g, kShape))}, DType::f64, kShape, attrs);
     }},
    {"A copy keeps the dtype.", [](Graph& g) { node(g, Op::copy, {read(g, input(g, kShape))}, DType::f64, kShape); }},
};

const GraphCase kOpCases[] = {
    {"Only a copy has parts, and not too many.", [](Graph& g) { padded(g).op = Op::relu; }},
    {"Only a copy has parts, and not too many.", [](Graph& g) { exponential(g).parts.within = {{}}; }},
    {"A part's bounds have a step for each axis, and are not empty.",
     [](Graph& g) { padded(g).parts.within[1][0].steps = {1}; }},
    {"A part's bounds have a step for each axis, and are not empty.",
     [](Graph& g) { padded(g).parts.within[1][0].high = 1; }},
    {"A layout reaches no element outside the memory of the node that it reads.",
     [](Graph& g) { padded(g).parts.within[1][0].high = 4; }},
    {"The axes of a reduction are its operand's, each once and in order.",
     [](Graph& g) { node(g, Op::sum, {read(g, input(g, kShape))}, DType::f32, {4}, along(7)); }},
    {"An op along an axis names one of its first operand's.",
     [](Graph& g) { node(g, Op::cumsum, {read(g, input(g, kShape))}, DType::f32, kShape, along(7)); }},
    {"An index holds i64.",
     [](Graph& g) {
       const NodeId x = input(g, kShape), index = input(g, {2}, DType::i32);
       node(g, Op::take, {read(g, x), read(g, index)}, DType::f32, {2, 5}, along(0));
     }},
    {"A matmul multiplies matrices of equal batches and inner extents.",
     [](Graph& g) {
       const NodeId a = input(g, {2, 3}), b = input(g, {4, 5});
       node(g, Op::matmul, {read(g, a), read(g, b)}, DType::f32, {2, 5});
     }},
    {"The result's dtype and shape are those that the op table infers.",
     [](Graph& g) { node(g, Op::sum, {read(g, input(g, kShape))}, DType::f32, {5}, along(1)); }},
    {"The operands of a matmul have its dtype.",
     [](Graph& g) {
       const NodeId a = input(g, {2, 3}), b = input(g, {3, 4}, DType::f64);
       node(g, Op::matmul, {read(g, a), read(g, b)}, DType::f32, {2, 4});
     }},
    {"The parts of a concat have its dtype.",
     [](Graph& g) {
       const NodeId a = input(g, {2}), b = input(g, {3}, DType::f64);
       node(g, Op::concat, {read(g, a), read(g, b)}, DType::f32, {5}, along(0));
     }},
    {"What is scattered has the dtype of the result.",
     [](Graph& g) {
       scatter(g, DType::f64, {2, 5});
     }},
    {"What is scattered has the shape that a take of the index would have.",
     [](Graph& g) {
       scatter(g, DType::f32, {2, 4});
     }},
    {"An assignment has the dtype and shape of what it changes a part of.",
     [](Graph& g) {
       assign(g, Layout::contiguous({4}), {4}, {5, 4});
     }},
    {"A part that is assigned lies within the result.",
     [](Graph& g) {
       assign(g, {{4}, {1}, 17}, {4}, kShape);
     }},
    {"What is assigned to a part has the dtype and shape of the part.",
     [](Graph& g) { assign(g, Layout::contiguous({4}), {5}, kShape); }},
    {"Only a matmul that sums in f32 has an epilogue.",
     [](Graph& g) { exponential(g).epilogue.activation = Op::relu; }},
    {"An epilogue's bias has an element for each column of the result.",
     [](Graph& g) {
       const NodeId bias = input(g, {5});
       product(g, {read(g, bias)});
     }},
    {"An epilogue's activation is relu, gelu_tanh or none.",
     [](Graph& g) { product(g).epilogue.activation = Op::exp; }},
    {"An output is a node of the graph.",
     [](Graph& g) {
       g.outputs.push_back({99, Layout::contiguous(kShape)});
     }},
    {"An output is one tensor.", [](Graph& g) { give(g, sorted(g)); }},
    {"An output's layout has a stride for each axis, and sizes that are numbers.",
     [](Graph& g) {
       exponential(g);
       g.outputs[0].layout.strides = {1};
     }},
    {"An output's layout reaches no element outside the memory of its node.",
     [](Graph& g) {
       exponential(g);
       g.outputs[0].layout.offset = 3;
     }},
    {"After dead code, a node is an input, is read, is an output, may fail, or is of the program's order.",
     [](Graph& g) { add(g, Op::exp, {read(g, input(g, kShape))}); }},
};

}  // namespace

const Symbol* orphan() {
  static const Symbol symbol = [] {
    Symbol s{};
    s.kind = Symbol::Kind::input;
    s.hint = Scalar::of(1.0);
    return s;
  }();
  return &symbol;
}

void add_graph_cases(std::vector<SpecCase>& cases) {
  const auto add_case = [&](const GraphCase& example) {
    cases.push_back({example.rule, [build = example.build] {
                       Graph g;
                       build(g);
                       verify(g, "a test", true);
                     }});
  };
  for (const GraphCase& example : kNodeCases) add_case(example);
  for (const GraphCase& example : kDTypeCases) add_case(example);
  for (const GraphCase& example : kOpCases) add_case(example);
}

}  // namespace tsl::graph
