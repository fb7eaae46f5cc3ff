// The graph IR: ops in static single assignment. Views are not nodes: every operand says through which layout it
// reads its producer, so a chain of views costs nothing and means the same eagerly and compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/source.h"
#include "tensor/op.h"

namespace tsl::graph {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

/// An operand: a node read through a layout, or a host number.
struct Arg {
  NodeId node = kNoNode;
  Layout layout;                   // over the node's output (contiguous, or as Node::input_layout for inputs)
  Scalar scalar;                   // when node == kNoNode
  const Symbol* symbol = nullptr;  // the scalar's symbol, if it has one

  bool is_tensor() const { return node != kNoNode; }
};

/// What a product does with its sums before it rounds them, where numerics are fast: see absorb_epilogues().
struct Epilogue {
  bool bias = false;         // the node's last operand, of one axis, is added along the result's last axis
  Op activation = Op::copy;  // then applied: relu, gelu_tanh, or nothing
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

struct Node {
  bool is_input = false;
  Op op = Op::copy;
  Attrs attrs;
  Epilogue epilogue;  // of a matmul
  std::vector<Arg> args;
  DType dtype = DType::f32;
  Shape shape;
  Layout input_layout;  // inputs only: strides as the caller's tensor has them, offset 0
  Span span;
  uint32_t order = 0;  // position in the program: errors and effects are ordered by it

  const OpDef& def() const { return op_def(op); }
  bool may_fail() const { return !is_input && tsl::may_fail(def(), dtype); }
};

/// What a region gives back: a node's output, seen through a layout.
struct Output {
  NodeId node;
  Layout layout;
};

/// Nodes by a hash of what they compute: a table in one piece of memory, in which those of equal hashes follow each
/// other.
class NodeIndex {
 public:
  /// Makes room for this many.
  void reserve(size_t nodes) {
    if (2 * nodes > slots_.size()) grow(2 * nodes);
  }
  /// The node of this hash that `is_equal` says it is, or kNoNode.
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

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  size_t size_ = 0;
};

class Graph {
 public:
  /// Makes room for this many nodes, and inputs among them.
  void reserve(size_t nodes, size_t inputs) {
    nodes_.reserve(nodes);
    inputs_.reserve(inputs);
    index_.reserve(nodes - inputs);
  }
  NodeId add_input(DType dtype, const Layout& layout);
  /// Adds an op, or finds the equal one that is there already.
  NodeId add(const OpDef& op, std::vector<Arg> args, const Attrs& attrs, const TensorType& type, Span span,
             uint32_t order);
  /// The same of a node of this or another graph, whose operands are nodes of this one; or adds an input.
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

/// "exp"; of a product with an epilogue "matmul_add_relu".
std::string name_of(const Node& node);

}  // namespace tsl::graph
