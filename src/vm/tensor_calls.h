// Short names for ops with attributes, beside those of tensor/op.h. Axes are normalised.
#pragma once

#include <vector>

#include "tensor/op.h"

namespace tsl {

inline Tensor insert_axis(Ops& ops, const Tensor& x, int64_t axis) {
  return ops.call(Op::insert_axis, {x}, {.axis = axis});
}

inline Tensor select(Ops& ops, const Tensor& x, int64_t axis, Dim index) {
  return ops.call(Op::select, {x}, {.axis = axis, .start = index});
}

inline Tensor concat(Ops& ops, const std::vector<Operand>& parts, int64_t axis) {
  return ops.call(Op::concat, std::span<const Operand>(parts), {.axis = axis});
}

inline Tensor fill(Ops& ops, const Shape& shape, DType dtype, const Operand& value) {
  return ops.call(Op::fill, {value}, {.dtype = dtype, .shape = shape});
}

inline Tensor iota(Ops& ops, Dim count, DType dtype, const Operand& start = Scalar::of(int64_t{0}),
                   const Operand& step = Scalar::of(int64_t{1})) {
  return ops.call(Op::iota, {start, step}, {.dtype = dtype, .count = count});
}

/// Picks along an axis. x: [batch…, n, rest…], index: [batch…, idx…] -> [batch…, idx…, rest…]
inline Tensor take(Ops& ops, const Tensor& x, const Tensor& index, int batch) {
  return ops.call(Op::take, {x, as_index(ops, index)}, {.batch = batch});
}

/// Returns the permutation that moves the axes of `first` to the front and keeps the order of the others.
inline std::vector<int64_t> order_with_front(int rank, const std::vector<int64_t>& first) {
  std::vector<int64_t> order = first;
  for (int64_t axis = 0; axis < rank; ++axis) {
    bool taken = false;
    for (int64_t f : first) taken = taken || f == axis;
    if (!taken) order.push_back(axis);
  }
  return order;
}

/// Inverts a permutation: inverse(order)[order[i]] == i.
inline std::vector<int64_t> inverse_order(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

/// Returns the product of extents [begin, end).
inline Dim extent_product(const Shape& shape, int begin, int end) {
  Dim product = 1;
  for (int i = begin; i < end; ++i) product = product * shape[i];
  return product;
}

}  // namespace tsl
