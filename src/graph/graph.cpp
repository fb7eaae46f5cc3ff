#include "graph/graph.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tsl::graph {

namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

uint64_t hash_of(const Node& node) {
  const Attrs& attrs = node.attrs;
  uint64_t h = static_cast<uint64_t>(node.op);
  h = mix(h, static_cast<uint64_t>(attrs.dtype) * 4 + attrs.keepdims * 2 + attrs.descending);
  if (node.epilogue != Epilogue()) h = mix(h, static_cast<uint64_t>(node.epilogue.activation) * 2 + node.epilogue.bias);
  uint64_t numbers = 0;
  for (int64_t number : attrs.numbers()) numbers = numbers * 31 + static_cast<uint64_t>(number);
  h = mix(h, numbers);
  for (int64_t i : attrs.axes) h = mix(h, static_cast<uint64_t>(i));
  attrs.for_each_size([&h](Dim size) { h = mix(h, static_cast<uint64_t>(size.hint())); });
  for (const Arg& arg : node.args) {
    h = mix(h, arg.is_tensor() ? arg.node : arg.scalar.bits());
    for (const Dim& d : arg.layout.strides) h = mix(h, static_cast<uint64_t>(d.hint()));
    h = mix(h, static_cast<uint64_t>(arg.layout.offset.hint()));
  }
  return h ^ h >> 32;  // an index looks at the low bits
}

bool same_arg(const Arg& a, const Arg& b) {
  if (a.node != b.node) return false;
  return a.is_tensor() ? same(a.layout, b.layout) : a.scalar == b.scalar && a.symbol == b.symbol;
}

bool same_call(const Node& a, const Node& b) {
  return a.op == b.op && std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), same_arg) &&
         a.attrs == b.attrs && a.epilogue == b.epilogue;
}

std::string dump_layout(const Layout& layout, const Shape& shape) {
  if (same(layout.shape, shape) && layout.is_contiguous() && layout.offset.hint() == 0) return "";
  return fmt::format("{{{} strides {} + {}}}", to_string(layout.shape), to_string(layout.strides),
                     layout.offset.hint());
}

/// ", [1]": what the node's class reads of its attributes' numbers.
std::string dump_axes(const Node& node) {
  const Attrs& attrs = node.attrs;
  switch (node.def().op_class) {
    case OpClass::reduction: return attrs.axes.empty() ? "" : fmt::format(", [{}]", fmt::join(attrs.axes, ","));
    case OpClass::scan:
    case OpClass::sort:
    case OpClass::concat: return fmt::format(", [{}]", attrs.axis);
    case OpClass::take:
    case OpClass::scatter: return fmt::format(", [{}]", attrs.batch);
    case OpClass::fold: return fmt::format(", [{},{},{}]", attrs.axis, attrs.step, attrs.dilation);
    case OpClass::elementwise:
    case OpClass::source:
    case OpClass::view:
    case OpClass::nonzero:
    case OpClass::assign:
    case OpClass::matmul:
    case OpClass::transfer: break;
  }
  return "";
}

}  // namespace

void NodeIndex::grow(size_t places) {
  const std::vector<Place> before = std::exchange(places_, std::vector<Place>(std::bit_ceil(places)));
  for (const Place& place : before) {
    if (place.node != kNoNode) put(place);
  }
}

NodeId Graph::add_input(DType dtype, const Layout& layout) {
  Node node;
  node.is_input = true;
  node.dtype = dtype;
  node.shape = layout.shape;
  node.input_layout = layout;
  node.input_layout.offset = 0;
  return add(std::move(node));
}

NodeId Graph::add(const OpDef& op, std::vector<Arg> args, const Attrs& attrs, const TensorType& type, Span span,
                  uint32_t order) {
  Node node;
  node.op = op.op;
  node.attrs = attrs;
  node.args = std::move(args);
  node.dtype = type.dtype;
  node.shape = type.shape;
  node.span = span;
  node.order = order;
  return add(std::move(node));
}

NodeId Graph::add(Node&& node) {
  if (node.is_input) {
    inputs_.push_back(size());
  } else {
    const uint64_t hash = hash_of(node);
    const NodeId known = index_.find(hash, [&](NodeId id) { return same_call(nodes_[id], node); });
    if (known != kNoNode) return known;
    index_.add(hash, size());
  }
  nodes_.push_back(std::move(node));
  return size() - 1;
}

std::string name_of(const Node& node) {
  std::string name(node.def().name);
  if (node.epilogue.bias) name += "_add";
  if (node.epilogue.activation != Op::copy) name.append("_").append(op_def(node.epilogue.activation).name);
  return name;
}

std::string dump(const Graph& graph, const SourceMap* sources) {
  std::string text;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    std::string args;
    for (const Arg& arg : node.args) {
      if (!args.empty()) args += ", ";
      if (arg.is_tensor()) args += fmt::format("%{}{}", arg.node, dump_layout(arg.layout, graph[arg.node].shape));
      else if (arg.symbol) args += fmt::format("s{}", arg.symbol->id);
      else if (arg.scalar.type == ScalarType::real) args += fmt::format("{}", arg.scalar.real);
      else args += fmt::format("{}", arg.scalar.as_integer());
    }
    if (!node.is_input) args += dump_axes(node);
    text += fmt::format("  %{} = {}({}) : {}{}", id, node.is_input ? "input" : name_of(node), args, name_of(node.dtype),
                        to_string(node.shape));
    if (sources && node.span.valid()) text += fmt::format("  # {}", sources->place(node.span));
    text += '\n';
  }
  std::string outputs;
  for (const Output& out : graph.outputs) {
    outputs +=
        fmt::format("{}%{}{}", outputs.empty() ? "" : ", ", out.node, dump_layout(out.layout, graph[out.node].shape));
  }
  return text + fmt::format("  return {}\n", outputs);
}

void verify(const Graph& graph) {
  auto broken = [&](NodeId id, const char* what) {
    throw std::logic_error(fmt::format("graph: node %{}: {}\n{}", id, what, dump(graph, nullptr)));
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.is_input) continue;
    if (node.def().op_class == OpClass::view) broken(id, "views are layouts, not nodes");
    if (node.def().op_class == OpClass::transfer) broken(id, "a graph has one device");
    const int operands = static_cast<int>(node.args.size()) - node.epilogue.bias;
    if (node.def().arity >= 0 && node.def().arity != operands) broken(id, "wrong arity");
    for (const Arg& arg : node.args) {
      if (!arg.is_tensor()) continue;
      if (arg.node >= id) broken(id, "an operand is defined after its use");
      if (node.def().op_class == OpClass::elementwise && !same(arg.layout.shape, node.shape)) {
        broken(id, "an elementwise operand is not broadcast");
      }
    }
  }
  for (const Output& out : graph.outputs) {
    if (out.node >= graph.size()) broken(out.node, "an output does not exist");
  }
}

}  // namespace tsl::graph
