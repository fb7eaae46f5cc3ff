// The graph IR: ops in static single assignment form. Views are not nodes: each operand has the layout through which it
// reads its producer, so a chain of views costs nothing and has the same meaning eagerly and compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/source.h"
#include "graph/parts.h"
#include "tensor/op.h"

namespace tsl::graph {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

/// An operand: a node read through a layout, or a host number.
struct Arg {
  NodeId node = kNoNode;
  Layout layout;                   // of the node's output, which is contiguous or, for inputs, has Node::input_layout
  Scalar scalar;                   // if node == kNoNode
  const Symbol* symbol = nullptr;  // the scalar's symbol, if it has one

  bool is_tensor() const { return node != kNoNode; }
};

/// What a matrix product applies to its sums before rounding, under fast numerics: see absorb_epilogues().
struct Epilogue {
  bool bias = false;         // adds the node's last operand, a vector, along the result's last axis
  Op activation = Op::copy;  // applied after the bias: is_activation(), or none (copy)
  static bool is_activation(Op op) { return op == Op::relu || op == Op::gelu_tanh; }
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// Larger extents of a product, with which a device computes it faster although it copies operands; and whether the
/// operands lie in memory by columns, an order that copies keep.
struct PaddedProduct {
  int64_t m = 0, n = 0, k = 0;
  bool a_in_columns = false, b_in_columns = false;
};

struct Node {
  bool is_input = false;
  Op op = Op::copy;
  Attrs attrs;
  Epilogue epilogue;  // matmul only
  Parts parts;        // copy only: if it consists of parts
  std::vector<Arg> args;
  DType dtype = DType::f32;
  Shape shape;
  Layout input_layout;  // inputs only: the strides of the caller's tensor, offset 0
  uint8_t result = 0;   // Op::result only: which of its operand's results it is
  Span span;
  bool is_backward = false;  // part of a backward pass: `span` is the position of what it differentiates
  ComposedWork work = ComposedWork::none;
  uint32_t range = 0;  // of SourceMap::ranges()
  uint32_t order = 0;  // position in the program, by which errors and effects are ordered

  const OpDef& def() const { return op_def(op); }
  Origin origin() const { return {span, is_backward, work, range}; }
  bool has_parts() const { return !parts.empty(); }
  /// Whether it is one of several results of its operand, a node of has_results(): memory that the operand's kernel
  /// writes. Only such nodes read an op of several results, so that every other node has one type.
  bool is_result() const { return !is_input && op == Op::result; }
  bool has_results() const { return !is_input && def().results > 1; }
  bool may_fail() const { return !is_input && tsl::may_fail(def(), dtype); }
  bool is_of_program() const { return !is_input && tsl::is_of_program(def()); }
};

/// An output of a region: a node's output, viewed through a layout.
struct Output {
  NodeId node;
  Layout layout;
};

/// A hash table of nodes by what they compute: one block of memory, with linear probing.
class NodeIndex {
 public:
  /// Reserves memory for this many nodes.
  void reserve(size_t nodes) {
    if (2 * nodes > slots_.size()) grow(2 * nodes);
  }
  /// Returns the node with this hash for which `is_equal` is true, or kNoNode.
  template <class IsEqual> NodeId find(uint64_t hash, IsEqual&& is_equal) const {
    for (size_t i = hash; !slots_.empty(); ++i) {
      const Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.node == kNoNode) break;
      if (slot.hash == hash && is_equal(slot.node)) return slot.node;
    }
    return kNoNode;
  }
  void add(uint64_t hash, NodeId node) {
    reserve(++size_);
    put({hash, node});
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    NodeId node = kNoNode;
  };
  void put(const Slot& slot) {
    size_t i = slot.hash;
    while (slots_[i & (slots_.size() - 1)].node != kNoNode) ++i;
    slots_[i & (slots_.size() - 1)] = slot;
  }
  void grow(size_t slots);

  std::vector<Slot> slots_;  // the size is a power of two, and at most half of the slots are used
  size_t size_ = 0;
};

class Graph {
 public:
  /// Reserves memory for this many nodes, `inputs` of them inputs.
  void reserve(size_t nodes, size_t inputs) {
    nodes_.reserve(nodes);
    inputs_.reserve(inputs);
    index_.reserve(nodes - inputs);
  }
  NodeId add_input(DType dtype, const Layout& layout);
  /// Adds an op, or returns an equal node.
  NodeId add(const OpDef& op, std::vector<Arg> args, const Attrs& attrs, const TensorType& type, const Origin& origin,
             uint32_t order);
  /// Adds result `number`, of this type, of a node that has several.
  NodeId add_result(NodeId of, int number, const TensorType& type);
  /// As above, for a node whose operands are nodes of this graph; also adds inputs.
  NodeId add(Node&& node);

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  Node& operator[](NodeId id) { return nodes_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  const std::vector<NodeId>& inputs() const { return inputs_; }

  std::vector<Output> outputs;

 private:
  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_;
  NodeIndex index_;  // hash-consing
};

/// Returns the name for kernels and logs: "exp"; for a product with an epilogue "matmul_add_relu"; for parts the op
/// that they were made from.
std::string name_of(const Node& node);

}  // namespace tsl::graph
