// Defines convolutions and their gradients by other ops, with all windows in memory: what a device without a kernel for
// a call computes.
#include <algorithm>

#include "tensor/rows/convolution.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

Shape space_of(const Shape& shape) {
  return Shape(std::span<const Dim>(shape.begin() + kBeforeSpace, static_cast<size_t>(shape.rank() - kBeforeSpace)));
}

/// Returns [planes, first…, second…].
Shape in_planes(Dim planes, const Shape& first, const Shape& second = {}) {
  Shape shape = {planes};
  for (const Shape* part : {&first, &second}) {
    for (const Dim& extent : *part) shape.push_back(extent);
  }
  return shape;
}

/// A convolution as products of matrices: for each example and group, filters [out, depth] with columns [depth,
/// windows]. The depth counts the channels and taps of a group. A plane is a channel of an example.
class WindowProducts {
 public:
  /// Takes the shapes of x, w and y, as ConvForm names them.
  WindowProducts(Ops& ops, Device device, const Shape& x, const Shape& w, const Shape& y, const ConvGeometry& geometry)
      : ops_(ops),
        placement_(ops, device),
        geometry_(geometry),
        rank_(geometry.rank()),
        x_(x),
        w_(w),
        y_(y),
        planes_(product_of_extents("conv", x[0], x[1])),
        depth_(w[1] * element_count(space_of(w))),
        count_(element_count(space_of(y))) {
    for (int i = 0; i < rank_; ++i) {
      const auto at = static_cast<size_t>(i);
      padded_.push_back(x[kBeforeSpace + i] + (geometry.low[at] + geometry.high[at]));
    }
  }

  /// Returns w as [groups, out, depth].
  Tensor filters(const Tensor& w) { return reshape(ops_, w, {geometry_.groups, outs(), depth_}); }
  /// Returns y as [batch, groups, out, windows].
  Tensor sums(const Tensor& y) { return reshape(ops_, y, {x_[0], geometry_.groups, outs(), count_}); }

  /// Returns the windows of x as columns [batch, groups, depth, windows].
  Tensor columns(const Tensor& x) {
    Tensor seen = in_space(reshape(ops_, x, in_planes(planes_, space_of(x_))), padded_, false);
    for (int i = 0; i < rank_; ++i) {
      const auto at = static_cast<size_t>(i);
      seen = ops_.call(Op::windows, {seen},
                       {.axis = 1 + i,
                        .step = geometry_.stride[at],
                        .size = w_[kBeforeSpace + i].pin(),
                        .dilation = geometry_.dilation[at]});
    }
    return reshape(ops_, permute(ops_, seen, exchanged()), {x_[0], geometry_.groups, depth_, count_});
  }

  /// Adds up columns where their windows lie in x: the adjoint of columns().
  Tensor fold(const Tensor& columns) {
    Tensor folded = permute(ops_, reshape(ops_, columns, in_planes(planes_, space_of(w_), space_of(y_))), exchanged());
    for (int i = rank_ - 1; i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      folded = ops_.call(
          Op::fold_windows, {folded},
          {.axis = 1 + i, .count = padded_[i], .step = geometry_.stride[at], .dilation = geometry_.dilation[at]});
    }
    return reshape(ops_, in_space(folded, space_of(x_), true), x_);
  }

 private:
  Dim outs() const { return w_[0] / geometry_.groups; }

  /// Returns the order that exchanges the axes of windows and those of taps.
  Ints exchanged() const {
    Ints order = {0};
    for (int i = 0; i < 2 * rank_; ++i) order.push_back(1 + (i + rank_) % (2 * rank_));
    return order;
  }

  /// Returns planes with the padding of their space, or `without` it: zeros, or what a negative width cuts off.
  Tensor in_space(const Tensor& planes, const Shape& space, bool without) {
    Tensor kept = planes;
    const Shape whole = in_planes(planes_, space);
    Layout place = Layout::contiguous(whole);
    for (int i = 0; i < rank_; ++i) {
      const auto at = static_cast<size_t>(i);
      const int64_t low = geometry_.low[at], high = geometry_.high[at];
      const Dim common = x_[kBeforeSpace + i] + (std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0));
      const Dim count = common < 0 ? Dim(0) : common;
      const int64_t in_x = std::max<int64_t>(-low, 0), in_padded = std::max<int64_t>(low, 0);
      kept = slice(ops_, kept, 1 + i, without ? in_padded : in_x, count);
      place = tsl::slice(place, 1 + i, without ? in_x : in_padded, count, 1);
    }
    return same(place.shape, whole) ? kept : embed(ops_, kept, whole, place);
  }

  Ops& ops_;
  const Placement placement_;
  const ConvGeometry& geometry_;
  const int rank_;
  const Shape x_, w_, y_;
  const Dim planes_, depth_, count_;
  Shape padded_;
};

/// Returns numbers as wide as their sums are added up.
Tensor wide(Ops& ops, const Tensor& x) { return is_float(x.dtype()) ? cast(ops, x, accumulator_of(x.dtype())) : x; }

}  // namespace

Results compose_conv(Ops& ops, Operands operands, const Attrs& attrs) {
  const Tensor &x = operands[0].tensor, &w = operands[1].tensor;
  const Shape shape = op_def(Op::conv).infer(operands, attrs).shape;
  WindowProducts products(ops, x.device(), x.shape(), w.shape(), shape, *attrs.conv);
  return {reshape(ops, matmul(ops, products.filters(w), products.columns(x)), shape)};
}

Results compose_input_grad(Ops& ops, Operands operands, const Attrs& attrs) {
  const Tensor &grad = operands[0].tensor, &w = operands[1].tensor;
  const Shape shape = op_def(Op::conv_input_grad).infer(operands, attrs).shape;
  WindowProducts products(ops, grad.device(), shape, w.shape(), grad.shape(), *attrs.conv);
  const Tensor filters = transpose(ops, products.filters(wide(ops, w)));
  return {cast(ops, products.fold(matmul(ops, filters, products.sums(wide(ops, grad)))), grad.dtype())};
}

Results compose_weight_grad(Ops& ops, Operands operands, const Attrs& attrs) {
  const Tensor &x = operands[0].tensor, &grad = operands[1].tensor;
  const Shape shape = op_def(Op::conv_weight_grad).infer(operands, attrs).shape;
  WindowProducts products(ops, x.device(), x.shape(), shape, grad.shape(), *attrs.conv);
  // One product for the windows of all examples: [groups, out, batch * windows] by [groups, batch * windows, depth].
  const Tensor sums = permute(ops, products.sums(grad), {1, 2, 0, 3});
  const Tensor columns = permute(ops, products.columns(x), {1, 0, 3, 2});
  const Dim windows = product_of_extents("conv", sums.shape()[2], sums.shape()[3]);
  const Tensor left = reshape(ops, sums, {sums.shape()[0], sums.shape()[1], windows});
  const Tensor right = reshape(ops, columns, {columns.shape()[0], windows, columns.shape()[3]});
  return {reshape(ops, matmul(ops, left, right), shape)};
}

}  // namespace tsl::rows
