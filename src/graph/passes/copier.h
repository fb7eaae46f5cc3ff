// Copies a graph with changes, for the passes.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"

namespace tsl::graph {

/// Reads all elements of a node in their order.
inline Arg all_of(NodeId id, const Shape& shape) {
  Arg arg;
  arg.node = id;
  arg.layout = Layout::contiguous(shape);
  return arg;
}

/// Makes a node of the dtype and the place in the program that another has, without operands.
inline Node node_like(const Node& like, Op op, const Shape& shape) {
  Node node;
  node.op = op;
  node.dtype = like.dtype;
  node.shape = shape;
  node.span = like.span;
  node.is_backward = like.is_backward;
  node.range = like.range;
  node.work = like.work;
  node.order = like.order;
  return node;
}

/// Copies selected nodes of a graph to a new one, with operands renumbered.
class Copier {
 public:
  explicit Copier(const Graph& from) : from_(from), renamed_(from.size(), kNoNode) {
    to_.reserve(from.size(), from.inputs().size());
  }

  void keep(NodeId id) { keep(id, Node(from_[id])); }
  /// As above, with `node` instead of the old node.
  void keep(NodeId id, Node&& node) {
    for (Arg& arg : node.args) {
      if (arg.is_tensor()) arg.node = renamed_[arg.node];
    }
    renamed_[id] = to_.add(std::move(node));
  }

  /// Adds a node that replaces part of node `id`. Its operands are nodes of the new graph.
  NodeId add(NodeId id, Op op, std::vector<Arg> args, const Attrs& attrs, const TensorType& type) {
    Origin origin = from_[id].origin();
    const bool is_of_reduction = origin.work == ComposedWork::none && is_reduction(from_[id].def());
    if (is_of_reduction) origin.work = ComposedWork::reduction;
    return to_.add(op_def(op), std::move(args), attrs, type, origin, from_[id].order);
  }
  /// Adds a node whose operands are nodes of the new graph.
  NodeId add(Node&& node) { return to_.add(std::move(node)); }
  NodeId renamed(NodeId id) const { return renamed_[id]; }
  /// Returns the new graph as it is so far.
  const Graph& made() const { return to_; }
  /// Makes users of `id` use node `other` of the new graph.
  void replace(NodeId id, NodeId other) { renamed_[id] = other; }

  /// Makes users of `id` use `other` (of the old graph), which has the same elements in the same order.
  void alias(NodeId id, NodeId other) { renamed_[id] = renamed_[other]; }

  Graph finish() {
    for (const Output& out : from_.outputs) to_.outputs.push_back({renamed_[out.node], out.layout});
    return std::move(to_);
  }

 private:
  const Graph& from_;
  Graph to_;
  std::vector<NodeId> renamed_;
};

}  // namespace tsl::graph
