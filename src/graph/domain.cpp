#include "graph/domain.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensor/limits.h"

namespace tsl::graph {

namespace {

/// Maps elements of a contiguous tensor, by their digits along its axes, to elements of an operand that is read through
/// a layout of the same shape. Axes that follow each other in the operand are one.
class DigitMap {
 public:
  explicit DigitMap(const Layout& operand) {
    int64_t step = 1;
    for (Dim extent : operand.shape) step *= extent.hint();
    for (int i = 0; i < operand.rank(); ++i) {
      const int64_t extent = operand.shape[i].hint(), stride = operand.strides[i].hint();
      if (extent == 1) continue;
      step /= extent;
      if (rank_ > 0 && axes_[rank_ - 1].stride == stride * extent) {
        axes_[rank_ - 1] = {axes_[rank_ - 1].extent * extent, step, stride, 0, 0};
      } else {
        axes_[rank_++] = {extent, step, stride, 0, 0};
      }
    }
  }
  bool is_one_axis() const { return rank_ == 1 && axes_[0].stride == 1; }

  /// Adds `count` steps of `distance` elements, and returns the distance in the operand.
  int64_t add(int64_t distance, int64_t count) {
    const int64_t sign = distance < 0 ? -1 : 1;
    int64_t rest = sign * distance, result = 0;
    for (int i = 0; i < rank_; ++i) {
      const int64_t digit = sign * (rest / axes_[i].step);
      rest %= axes_[i].step;
      (digit < 0 ? axes_[i].low : axes_[i].high) += digit * count;
      result += digit * axes_[i].stride;
    }
    return result;
  }
  /// Adds a position that every element has.
  int64_t add_offset(int64_t offset) {
    const int64_t result = add(offset, 1);
    for (int i = 0; i < rank_; ++i) axes_[i].low += axes_[i].high;
    return result;
  }
  /// Whether no digit carries over to the next axis, whatever the indices: only then the distances may be added.
  bool is_exact() const {
    return std::all_of(axes_.begin(), axes_.begin() + rank_,
                       [](const Axis& axis) { return axis.low >= 0 && axis.high < axis.extent; });
  }

 private:
  struct Axis {
    int64_t extent, step, stride;  // the distance of neighbours in the tensor, and in the operand
    int64_t low, high;             // the digits that occur
  };
  std::array<Axis, kMaxRank> axes_{};
  int rank_ = 0;
};

}  // namespace

std::optional<Layout> through(const Layout& view, const Layout& operand) {
  const auto is_empty = [](Dim extent) { return extent.hint() == 0; };
  if (std::any_of(view.shape.begin(), view.shape.end(), is_empty)) return std::nullopt;
  DigitMap digits(operand);
  Layout out{view.shape, {}, operand.offset};
  if (view.offset.symbol()) {  // a run determines it: the operand must be the tensor itself
    if (!digits.is_one_axis() || !operand.offset.same(0)) return std::nullopt;
    out.strides = view.strides;
    out.offset = view.offset;
    return out;
  }
  const int64_t offset = digits.add_offset(view.offset.hint());
  if (offset != 0 && operand.offset.symbol()) return std::nullopt;
  if (offset != 0) out.offset = operand.offset.hint() + offset;
  for (int i = 0; i < view.rank(); ++i) {
    const int64_t extent = view.shape[i].hint();
    out.strides.push_back(extent == 1 ? 0 : digits.add(view.strides[i].hint(), extent - 1));
  }
  if (!digits.is_exact()) return std::nullopt;
  return out;
}

Dims without_ones(const Dims& shape) {
  Dims out;
  for (Dim d : shape) {
    if (d.hint() != 1) out.push_back(d);
  }
  return out;
}

int64_t count_of(const Dims& shape) { return count_if_representable(shape).value_or(INT64_MAX); }

std::optional<Dims> refine(const Dims& a, const Dims& b) {
  const Dims x = without_ones(a), y = without_ones(b);
  Dims out;
  int i = 0, j = 0;
  int64_t left = x.rank() ? x[0].hint() : 1, right = y.rank() ? y[0].hint() : 1;
  while (i < x.rank() && j < y.rank()) {
    const int64_t part = left < right ? left : right;
    if (part == 0 ? left != right : (left % part != 0 || right % part != 0)) return std::nullopt;
    if (out.rank() == kMaxRank) return std::nullopt;
    out.push_back(part);
    left = part == 0 ? 1 : left / part;
    right = part == 0 ? 1 : right / part;
    if (left == 1) left = ++i < x.rank() ? x[i].hint() : 1;
    if (right == 1) right = ++j < y.rank() ? y[j].hint() : 1;
  }
  if (i != x.rank() || j != y.rank()) return std::nullopt;
  return out;
}

Ints axes_of(const Dims& shape, const Dims& loops) {
  Ints axes;
  int axis = 0;
  int64_t covered = 1;
  for (const Dim& loop : loops) {
    while (axis < shape.rank() && shape[axis].hint() == 1) ++axis;
    axes.push_back(axis);
    covered *= loop.hint();
    if (covered == shape[axis].hint()) {
      ++axis;
      covered = 1;
    }
  }
  return axes;
}

Dims split_strides(const Layout& layout, const Dims& loops) {
  const Ints axes = axes_of(layout.shape, loops);
  Dims strides;
  for (Dim loop : loops) strides.push_back(loop);  // sets the size; every entry is set below
  for (int k = loops.rank() - 1; k >= 0; --k) {
    const bool innermost_of_axis = k + 1 == loops.rank() || axes[k + 1] != axes[k];
    strides[k] = innermost_of_axis ? layout.strides[static_cast<int>(axes[k])] : strides[k + 1] * loops[k + 1];
  }
  return strides;
}

}  // namespace tsl::graph
