// The sizes of a convolution, as its kernels need them, and its definition by other ops.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/op.h"

namespace tsl {

/// The axes of a convolution before those of space, and the most of space: those of one or two come last, and the
/// others have extent 1.
inline constexpr int kBeforeSpace = 2, kMostSpace = 3;
using ConvAxes = std::array<int64_t, kMostSpace>;

inline int64_t product_of(const ConvAxes& axes) { return axes[0] * axes[1] * axes[2]; }

/// Returns one number for each axis of space; `missing` for axes that a convolution does not have.
ConvAxes conv_axes(const Ints& values, int64_t missing);

/// The convolution that a call computes, or is a gradient of, in this run: y[n, o, p] = sum of
/// x[n, c, p * stride + k * dilation - low] * w[o, c, k].
struct ConvForm {
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // of a group
  int rank = kMostSpace;                      // axes of space
  ConvAxes in{}, out{}, taps{};
  ConvAxes stride{}, dilation{}, low{};  // strides and dilations of ConvGeometry::clamped()

  ConvForm() = default;
  /// Finds which of a call's operands and its result are x, w and y.
  ConvForm(Op op, const Shape& first, const Shape& second, const Shape& result, const ConvGeometry& geometry);
  /// The products of two numbers that are added up.
  uint64_t products() const {
    const int64_t sums = batch * groups * out_channels * product_of(out), depth = in_channels * product_of(taps);
    return static_cast<uint64_t>(sums) * static_cast<uint64_t>(depth);
  }
};

namespace rows {
/// OpDef::compose of Op::conv, Op::conv_input_grad and Op::conv_weight_grad.
Results compose_conv(Ops& ops, std::span<const Operand> operands, const Attrs& attrs);
Results compose_input_grad(Ops& ops, std::span<const Operand> operands, const Attrs& attrs);
Results compose_weight_grad(Ops& ops, std::span<const Operand> operands, const Attrs& attrs);
}  // namespace rows

}  // namespace tsl
