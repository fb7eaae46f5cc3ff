#include "graph/reach.h"

#include <algorithm>

namespace tsl::graph {

namespace {

/// Adds loops to a reach, and remembers whether one of them is empty.
class ReachOfLoops {
 public:
  void add(int64_t extent, int64_t stride) {
    is_empty_ |= extent == 0;
    reach_.add(extent, stride);
  }
  std::optional<Reach> result() const { return is_empty_ ? std::nullopt : std::optional(reach_); }

 private:
  Reach reach_;
  bool is_empty_ = false;
};

}  // namespace

std::optional<Reach> reach_of(const Layout& layout) {
  ReachOfLoops loops;
  for (int i = 0; i < layout.rank(); ++i) loops.add(layout.shape[i].hint(), layout.strides[i].hint());
  return loops.result();
}

std::optional<Reach> reach_within(const Dims& shape, const Dims& strides, const Bounds& bounds) {
  ReachOfLoops loops;
  int64_t moved = 0;                                // the reach starts here
  std::vector<Range> left = box_of(shape, bounds);  // as far as bounds of single axes restrict them
  std::vector<bool> is_counted(left.size(), false);
  for (const Bound& bound : bounds) {
    if (std::count_if(bound.steps.begin(), bound.steps.end(), [](int64_t step) { return step != 0; }) < 2) continue;
    // Several axes that move both the bound's function and the access in proportion count as one.
    int64_t ratio = 0, low = 0, high = 0;
    bool is_proportional = true;
    for (size_t k = 0; k < bound.steps.size(); ++k) {
      if (bound.steps[k] == 0) continue;
      is_proportional &= !is_counted[k];
      const int64_t stride = strides[static_cast<int>(k)].hint();
      if (ratio == 0) ratio = stride / bound.steps[k];
      is_proportional &= left[k].high > left[k].low && stride == ratio * bound.steps[k];
      low += std::min(bound.steps[k] * left[k].low, bound.steps[k] * (left[k].high - 1));
      high += std::max(bound.steps[k] * left[k].low, bound.steps[k] * (left[k].high - 1));
    }
    if (!is_proportional) continue;
    low = std::max(low, bound.low);
    high = std::min(high, bound.high - 1);
    loops.add(std::max<int64_t>(high - low + 1, 0), ratio);
    moved += ratio * low;
    for (size_t k = 0; k < bound.steps.size(); ++k) {
      if (bound.steps[k] == 0) continue;
      left[k] = {0, 1};
      is_counted[k] = true;
    }
  }
  for (size_t k = 0; k < left.size(); ++k) {
    const int64_t stride = strides[static_cast<int>(k)].hint();
    loops.add(std::max<int64_t>(left[k].high - left[k].low, 0), stride);
    moved += left[k].low * stride;
  }
  std::optional<Reach> reach = loops.result();
  if (reach) reach->first += moved, reach->last += moved;
  return reach;
}

Bounds bounds_of(const Kernel& kernel, const Instr& instr) {
  Bounds bounds;
  for (const Instr* at = &instr; at->is_guarded;) {
    at = &kernel.program[at->a];
    Bound bound{{}, at->low - at->map.offset.hint(), at->high - at->map.offset.hint()};
    for (Dim stride : at->map.strides) bound.steps.push_back(stride.hint());
    bounds.push_back(bound);
  }
  return bounds;
}

std::optional<Reach> reach_of(const Kernel& kernel, const Instr& instr) {
  if (instr.is_guarded && instr.kind == Instr::Kind::load) {
    Dims shape, strides;
    for_each_loop(kernel, instr, [&](int64_t extent, int64_t stride) {
      shape.push_back(extent);
      strides.push_back(stride);
    });
    return reach_within(shape, strides, bounds_of(kernel, instr));
  }
  ReachOfLoops loops;
  for_each_loop(kernel, instr, [&](int64_t extent, int64_t stride) { loops.add(extent, stride); });
  if (instr.kind == Instr::Kind::gather) loops.add(instr.index_extent.hint(), instr.index_stride.hint());
  return loops.result();
}

}  // namespace tsl::graph
