// Graphs of one op with a kernel of its own, over operands of any layout.
#pragma once

#include "support/build.h"

namespace tsl::graph {

/// A contiguous tensor, and the layout through which it is read.
struct Lying {
  DType dtype = DType::f32;
  Shape shape;
  Layout view;
};

inline Lying plain(const Shape& shape, DType dtype) { return {dtype, shape, Layout::contiguous(shape)}; }

inline Arg read_lying(Graph& graph, const Lying& operand) {
  Arg arg;
  arg.node = input(graph, operand.shape, operand.dtype);
  arg.layout = operand.view;
  return arg;
}

inline Graph one_op(Op op, const std::vector<Lying>& operands, const Attrs& attrs, const TensorType& type) {
  Graph graph;
  std::vector<Arg> args;
  for (const Lying& operand : operands) args.push_back(read_lying(graph, operand));
  give(graph, graph.add(op_def(op), std::move(args), attrs, type, Span{}, 7));
  return graph;
}

/// cumsum, cumprod.
inline Graph scan(Op op, const Lying& x, int axis) {
  Attrs attrs;
  attrs.axis = axis;
  return one_op(op, {x}, attrs, {total_of(x.dtype), x.view.shape});
}

/// Sorts along an axis; the graph returns the indices, and before them the elements if `values`.
inline Graph argsort(const Lying& x, int axis, bool descending, bool values = false) {
  Attrs attrs;
  attrs.axis = axis;
  attrs.descending = descending;
  attrs.count = x.view.shape[axis];
  Graph graph;
  const NodeId sorted = graph.add(op_def(Op::sort), {read_lying(graph, x)}, attrs, {x.dtype, x.view.shape}, Span{}, 7);
  if (values) give(graph, graph.add_result(sorted, 0, {x.dtype, x.view.shape}));
  give(graph, graph.add_result(sorted, 1, {DType::i64, x.view.shape}));
  return graph;
}

/// scatter, scatter_add.
inline Graph scatter(Op op, const Lying& x, const Lying& index, const Lying& updates, int batch) {
  Attrs attrs;
  attrs.batch = batch;
  return one_op(op, {x, index, updates}, attrs, {x.dtype, x.view.shape});
}

inline Graph nonzero(const Lying& mask, int64_t count) {
  Attrs attrs;
  attrs.count = count;
  return one_op(Op::nonzero, {mask}, attrs, {DType::i64, {Dim(count), Dim(mask.view.shape.rank())}});
}

/// Makes the windows along `axis` of a tensor with `extent` elements there.
inline Graph fold_windows(const Lying& x, int axis, int64_t extent, int64_t step, int64_t dilation) {
  Attrs attrs;
  attrs.axis = axis;
  attrs.count = extent;
  attrs.step = step;
  attrs.dilation = dilation;
  Shape shape = x.view.shape;
  shape.erase(shape.rank() - 1);
  shape[axis] = extent;
  return one_op(Op::fold_windows, {x}, attrs, {x.dtype, shape});
}

/// Makes a convolution or one of its gradients. `space`: the extents of a gradient's space, or taps; `numbers`: those
/// of its geometry.
inline Graph convolution(Op op, const Lying& a, const Lying& b, const std::vector<int64_t>& numbers,
                         const Shape& space = {}) {
  Attrs attrs;
  attrs.conv = ConvGeometry::of(numbers);
  attrs.shape = space;
  const std::vector<Operand> operands = {Tensor(a.dtype, Layout::contiguous(a.view.shape), nullptr),
                                         Tensor(b.dtype, Layout::contiguous(b.view.shape), nullptr)};
  return one_op(op, {a, b}, attrs, op_def(op).infer(operands, attrs));
}

inline Graph product(const Lying& a, const Lying& b) {
  Shape shape = a.view.shape;
  shape[shape.rank() - 1] = b.view.shape[b.view.shape.rank() - 1];
  return one_op(Op::matmul, {a, b}, {}, {a.dtype, shape});
}

}  // namespace tsl::graph
