// Short names for ops with attributes, beside those of tensor/op.h. Axes are normalised.
#pragma once

#include <vector>

#include "tensor/op.h"

namespace tsl {

inline Attrs with_ints(std::vector<int64_t> ints) {
  Attrs attrs;
  attrs.ints = std::move(ints);
  return attrs;
}

inline Tensor insert_axis(Ops& ops, const Tensor& x, int64_t axis) {
  return ops.call(Op::insert_axis, {x}, with_ints({axis}));
}

inline Tensor select(Ops& ops, const Tensor& x, int64_t axis, Dim index) {
  Attrs attrs = with_ints({axis});
  attrs.dims = {index};
  return ops.call(Op::select, {x}, attrs);
}

inline Tensor concat(Ops& ops, const std::vector<Operand>& parts, int64_t axis) {
  return ops.call(Op::concat, std::span<const Operand>(parts), with_ints({axis}));
}

inline Tensor fill(Ops& ops, const Shape& shape, DType dtype, const Operand& value) {
  Attrs attrs;
  attrs.dims = shape;
  attrs.dtype = dtype;
  return ops.call(Op::fill, {value}, attrs);
}

inline Tensor iota(Ops& ops, Dim count, DType dtype, const Operand& start = Scalar::of(int64_t{0}),
                   const Operand& step = Scalar::of(int64_t{1})) {
  Attrs attrs;
  attrs.dims = {count};
  attrs.dtype = dtype;
  return ops.call(Op::iota, {start, step}, attrs);
}

/// x: [batch…, n, rest…], index: [batch…, idx…] -> [batch…, idx…, rest…]
inline Tensor take(Ops& ops, const Tensor& x, const Tensor& index, int batch) {
  return ops.call(Op::take, {x, cast(ops, index, DType::i64)}, with_ints({batch}));
}

/// A permutation that brings the axes of `first` to the front, in that order, and keeps the others in theirs.
inline std::vector<int64_t> order_with_front(int rank, const std::vector<int64_t>& first) {
  std::vector<int64_t> order = first;
  for (int64_t axis = 0; axis < rank; ++axis) {
    bool taken = false;
    for (int64_t f : first) taken = taken || f == axis;
    if (!taken) order.push_back(axis);
  }
  return order;
}

/// Where each axis went: inverse(order)[order[i]] == i.
inline std::vector<int64_t> inverse_order(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

/// Moves one axis to another place.
inline Tensor move_axis(Ops& ops, const Tensor& x, int64_t from, int64_t to) {
  if (from == to) return x;
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    if (axis != from) order.push_back(axis);
  order.insert(order.begin() + to, from);
  return permute(ops, x, order);
}

/// The product of extents [begin, end).
inline Dim extent_product(const Shape& shape, int begin, int end) {
  Dim product = 1;
  for (int i = begin; i < end; ++i) product = product * shape[i];
  return product;
}

}  // namespace tsl
