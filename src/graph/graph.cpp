#include "graph/graph.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

namespace tsl::graph {

namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

uint64_t hash_of(const Node& node) {
  const Attrs& attrs = node.attrs;
  uint64_t h = static_cast<uint64_t>(node.op) + (uint64_t{node.result} << 32);
  uint64_t numbers = 0;
  Attrs::for_each_field([&](const char*, auto field) {
    using Field = std::decay_t<decltype(attrs.*field)>;
    if constexpr (std::is_integral_v<Field> || std::is_enum_v<Field>)
      numbers = numbers * 31 + static_cast<uint64_t>(attrs.*field);
  });
  h = mix(h, numbers);
  h = mix(h, static_cast<uint64_t>(node.dtype));
  for (const Dim& d : node.shape) h = mix(h, static_cast<uint64_t>(d.hint()));
  if (node.epilogue != Epilogue()) h = mix(h, static_cast<uint64_t>(node.epilogue.activation) * 2 + node.epilogue.bias);
  for (const Bounds& bounds : node.parts.within) {
    for (const Bound& bound : bounds)
      h = mix(h, static_cast<uint64_t>(bound.low) * 31 + static_cast<uint64_t>(bound.high));
    h = mix(h, bounds.size());
  }
  for (int64_t i : attrs.axes) h = mix(h, static_cast<uint64_t>(i));
  if (attrs.conv) {
    for (int64_t i : attrs.conv->numbers()) h = mix(h, static_cast<uint64_t>(i));
  }
  attrs.for_each_size([&h](Dim size) { h = mix(h, static_cast<uint64_t>(size.hint())); });
  for (const Arg& arg : node.args) {
    h = mix(h, arg.is_tensor() ? arg.node : arg.scalar.bits());
    for (const Dim& d : arg.layout.strides) h = mix(h, static_cast<uint64_t>(d.hint()));
    h = mix(h, static_cast<uint64_t>(arg.layout.offset.hint()));
  }
  return h ^ h >> 32;  // the index uses the low bits
}

bool same_arg(const Arg& a, const Arg& b) {
  if (a.node != b.node) return false;
  return a.is_tensor() ? same(a.layout, b.layout) : a.scalar == b.scalar && a.symbol == b.symbol;
}

/// Whether two nodes are one: all that their results depend on is equal, the type included. Calls whose operands are
/// host numbers may have equal operands and attributes, and other dtypes.
bool same_call(const Node& a, const Node& b) {
  return a.op == b.op && a.result == b.result && a.dtype == b.dtype && same(a.shape, b.shape) &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), same_arg) && a.attrs == b.attrs &&
         a.epilogue == b.epilogue && a.parts == b.parts;
}

}  // namespace

void NodeIndex::grow(size_t slots) {
  const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(std::bit_ceil(slots)));
  for (const Slot& slot : before) {
    if (slot.node != kNoNode) put(slot);
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

namespace {

Node make_node(const OpDef& op, std::vector<Arg> args, const Attrs& attrs, const TensorType& type, const Origin& origin,
               uint32_t order) {
  Node node;
  node.op = op.op;
  node.attrs = attrs;
  node.args = std::move(args);
  node.dtype = type.dtype;
  node.shape = type.shape;
  node.span = origin.span;
  node.is_backward = origin.is_backward;
  node.range = origin.range;
  node.work = origin.work;
  node.order = order;
  return node;
}

}  // namespace

NodeId Graph::add(const OpDef& op, std::vector<Arg> args, const Attrs& attrs, const TensorType& type,
                  const Origin& origin, uint32_t order) {
  return add(make_node(op, std::move(args), attrs, type, origin, order));
}

NodeId Graph::add_result(NodeId of, int number, const TensorType& type) {
  const Node& producer = nodes_[of];
  Arg arg;
  arg.node = of;
  arg.layout = Layout::contiguous(producer.shape);
  Node node = make_node(op_def(Op::result), {arg}, {}, type, producer.origin(), producer.order);
  node.result = static_cast<uint8_t>(number);
  return add(std::move(node));
}

NodeId Graph::add(Node&& node) {
  const bool is_input = node.is_input;
  const uint64_t hash = is_input ? 0 : hash_of(node);
  if (!is_input) {
    const NodeId known = index_.find(hash, [&](NodeId id) { return same_call(nodes_[id], node); });
    if (known != kNoNode) return known;
  }
  const NodeId id = size();
  nodes_.push_back(std::move(node));
  try {
    if (is_input) inputs_.push_back(id);
    else index_.add(hash, id);
  } catch (...) {  // out of memory; what was recorded so far is still computed
    nodes_.pop_back();
    throw;
  }
  return id;
}

std::string name_of(const Node& node) {
  std::string name(op_def(node.has_parts() ? node.parts.made_from : node.op).name);
  if (node.epilogue.bias) name += "_add";
  if (node.epilogue.activation != Op::copy) name.append("_").append(op_def(node.epilogue.activation).name);
  return name;
}

}  // namespace tsl::graph
