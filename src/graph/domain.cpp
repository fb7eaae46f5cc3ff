#include "graph/domain.h"

namespace tsl::graph {

Dims without_ones(const Dims& shape) {
  Dims out;
  for (Dim d : shape) {
    if (d.hint() != 1) out.push_back(d);
  }
  return out;
}

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
