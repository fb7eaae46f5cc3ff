// Small graphs for tests.
#pragma once

#include "graph/graph.h"

namespace tsl::graph {

inline Arg read(const Graph& graph, NodeId id) {
  Arg arg;
  arg.node = id;
  arg.layout = graph[id].is_input ? graph[id].input_layout : Layout::contiguous(graph[id].shape);
  return arg;
}

inline Arg number(double value) {
  Arg arg;
  arg.scalar = Scalar::of(value);
  return arg;
}

inline NodeId input(Graph& graph, const Shape& shape, DType dtype = DType::f32) {
  return graph.add_input(dtype, Layout::contiguous(shape));
}

/// Adds an op whose result has the shape of its first tensor operand.
inline NodeId add(Graph& graph, Op op, std::vector<Arg> args, const Attrs& attrs = {}) {
  const TensorType type{graph[args[0].node].dtype, args[0].layout.shape};
  return graph.add(op_def(op), std::move(args), attrs, type, Span{}, graph.size());
}

inline NodeId reduce(Graph& graph, Op op, NodeId x, int axis, bool keepdims = true) {
  Attrs attrs;
  attrs.axes = {axis};
  attrs.keepdims = keepdims;
  const Operand operand = Tensor(graph[x].dtype, Layout::contiguous(graph[x].shape), nullptr);
  return graph.add(op_def(op), {read(graph, x)}, attrs, op_def(op).infer({&operand, 1}, attrs), Span{}, graph.size());
}

/// Reads node `id`, broadcast to `shape`.
inline Arg spread(const Graph& graph, NodeId id, const Shape& shape) {
  Arg arg = read(graph, id);
  arg.layout = expand(arg.layout, shape);
  return arg;
}

inline void give(Graph& graph, NodeId id) { graph.outputs.push_back({id, Layout::contiguous(graph[id].shape)}); }

}  // namespace tsl::graph
