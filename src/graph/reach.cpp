#include "graph/reach.h"

#include <algorithm>
#include <set>

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

// ---- Distinct elements ---------------------------------------------------------------------------------------------

void DistinctElements::add(int64_t offset, std::vector<Loop> loops) {
  if (std::any_of(loops.begin(), loops.end(), [](const Loop& loop) { return loop.extent <= 0; })) return;
  std::erase_if(loops, [](const Loop& loop) { return loop.extent == 1 || loop.stride == 0; });
  for (Loop& loop : loops) {
    if (loop.stride > 0) continue;
    offset += (loop.extent - 1) * loop.stride;
    loop.stride = -loop.stride;
  }
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.stride < b.stride; });
  std::vector<Loop> apart;
  for (const Loop& loop : loops) {
    Loop* const inner = apart.empty() ? nullptr : &apart.back();
    if (inner && loop.stride % inner->stride == 0 && loop.stride / inner->stride <= inner->extent)
      inner->extent += (loop.extent - 1) * (loop.stride / inner->stride);  // continues or overlaps it
    else apart.push_back(loop);
  }
  const auto is_same = [&](const Access& other) {
    return other.offset == offset &&
           std::equal(other.loops.begin(), other.loops.end(), apart.begin(), apart.end(),
                      [](const Loop& a, const Loop& b) { return a.extent == b.extent && a.stride == b.stride; });
  };
  if (std::none_of(accesses_.begin(), accesses_.end(), is_same)) accesses_.push_back({offset, std::move(apart)});
}

void DistinctElements::add(const Layout& layout) {
  std::vector<Loop> loops;
  loops.reserve(static_cast<size_t>(layout.rank()));
  for (int i = 0; i < layout.rank(); ++i) loops.push_back({layout.shape[i].hint(), layout.strides[i].hint()});
  add(layout.offset.hint(), std::move(loops));
}

namespace {

using Box = std::vector<Range>;

/// Counts the points in a union of boxes, from dimension `dim` on.
uint64_t points_of(const std::vector<const Box*>& boxes, size_t dim) {
  if (boxes.empty()) return 0;
  if (dim == boxes[0]->size()) return 1;
  std::vector<int64_t> edges;
  for (const Box* box : boxes) edges.insert(edges.end(), {(*box)[dim].low, (*box)[dim].high});
  std::sort(edges.begin(), edges.end());
  uint64_t points = 0;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i] == edges[i + 1]) continue;
    std::vector<const Box*> inside;
    for (const Box* box : boxes) {
      if ((*box)[dim].low <= edges[i] && edges[i + 1] <= (*box)[dim].high) inside.push_back(box);
    }
    points += static_cast<uint64_t>(edges[i + 1] - edges[i]) * points_of(inside, dim + 1);
  }
  return points;
}

/// Returns an access as a box of the grid with these strides, smallest first; none if it is no box there.
std::optional<Box> box_in(const std::vector<int64_t>& strides, int64_t offset,
                          const std::vector<DistinctElements::Loop>& loops) {
  Box box(strides.size());
  for (size_t k = strides.size(); k-- > 0;) {
    const int64_t first = offset / strides[k];
    offset %= strides[k];
    box[k] = {first, first + 1};
  }
  for (const DistinctElements::Loop& loop : loops) {
    const auto k = static_cast<size_t>(std::find(strides.begin(), strides.end(), loop.stride) - strides.begin());
    box[k].high = box[k].low + loop.extent;
    if (k + 1 < strides.size() && box[k].high > strides[k + 1] / strides[k]) return std::nullopt;
  }
  return box;
}

}  // namespace

uint64_t DistinctElements::count() const {
  constexpr size_t kMost = 64;            // the boxes are compared with each other
  constexpr double kMostCells = 100'000;  // that their edges divide the grid into
  uint64_t sum = 0;
  std::vector<int64_t> strides{1};
  for (const Access& access : accesses_) {
    uint64_t own = 1;
    for (const Loop& loop : access.loops) {
      own *= static_cast<uint64_t>(loop.extent);
      strides.push_back(loop.stride);
    }
    sum += own;
  }
  if (accesses_.size() <= 1 || accesses_.size() > kMost) return sum;
  std::sort(strides.begin(), strides.end());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  for (size_t k = 0; k + 1 < strides.size(); ++k) {
    if (strides[k + 1] % strides[k] != 0) return sum;
  }
  std::vector<Box> boxes;
  for (const Access& access : accesses_) {
    std::optional<Box> box = box_in(strides, access.offset, access.loops);
    if (!box) return sum;
    boxes.push_back(std::move(*box));
  }
  double cells = 1;
  for (size_t k = 0; k < strides.size(); ++k) {
    std::set<int64_t> edges;
    for (const Box& box : boxes) edges.insert({box[k].low, box[k].high});
    cells *= static_cast<double>(edges.size());
  }
  if (cells > kMostCells) return sum;
  std::vector<const Box*> all;
  all.reserve(boxes.size());
  for (const Box& box : boxes) all.push_back(&box);
  return points_of(all, 0);
}

}  // namespace tsl::graph
