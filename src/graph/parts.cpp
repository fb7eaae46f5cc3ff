#include "graph/parts.h"

#include <algorithm>
#include <cstdlib>

namespace tsl::graph {

namespace {

/// Returns the only axis that a bound restricts, or -1 if there are several or none.
int only_axis(const Bound& bound) {
  int only = -1;
  for (size_t k = 0; k < bound.steps.size(); ++k) {
    if (bound.steps[k] == 0) continue;
    if (only >= 0) return -1;
    only = static_cast<int>(k);
  }
  return only;
}

/// Returns the values of a bound's function over a shape without extents of 0.
Range values_of(const Ints& steps, const Dims& shape) {
  Range range;
  for (size_t k = 0; k < steps.size(); ++k) {
    const int64_t most = (shape[static_cast<int>(k)].hint() - 1) * steps[k];
    range.low += std::min<int64_t>(most, 0);
    range.high += std::max<int64_t>(most, 0);
  }
  ++range.high;
  return range;
}

/// Adds the elements that a stride reaches from the low end of a range to a digit of an index.
void add_reach(Range& digit, int64_t count, int64_t step) { (step < 0 ? digit.low : digit.high) += (count - 1) * step; }

}  // namespace

std::vector<Range> box_of(const Dims& shape, const Bounds& bounds) {
  std::vector<Range> box;
  for (Dim extent : shape) box.push_back({0, extent.hint()});
  for (const Bound& bound : bounds) {
    const int axis = only_axis(bound);
    if (axis < 0) continue;
    Range& range = box[static_cast<size_t>(axis)];
    const int64_t step = bound.steps[static_cast<size_t>(axis)];
    const int64_t first = step > 0 ? bound.low : bound.high - 1, last = step > 0 ? bound.high - 1 : bound.low;
    range.low = std::max(range.low, -floor_div(-first, step));
    range.high = std::min(range.high, floor_div(last, step) + 1);
  }
  return box;
}

std::optional<Bounds> normalized(const Bounds& bounds, const Dims& shape) {
  Bounds out;
  for (const Bound& bound : bounds) {
    const Range values = values_of(bound.steps, shape);
    const Bound cut{bound.steps, std::max(bound.low, values.low), std::min(bound.high, values.high)};
    if (cut.low >= cut.high) return std::nullopt;
    if (cut.low == values.low && cut.high == values.high) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Bound& b) { return b.steps == cut.steps; });
    if (same == out.end()) {
      out.push_back(cut);
      continue;
    }
    same->low = std::max(same->low, cut.low);
    same->high = std::min(same->high, cut.high);
    if (same->low >= same->high) return std::nullopt;
  }
  const std::vector<Range> box = box_of(shape, out);
  if (std::any_of(box.begin(), box.end(), [](const Range& r) { return r.low >= r.high; })) return std::nullopt;
  std::sort(out.begin(), out.end(), [](const Bound& a, const Bound& b) {
    return std::lexicographical_compare(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end());
  });
  return out;
}

bool holds(const Bounds& outer, const Bounds& inner) {
  return std::all_of(outer.begin(), outer.end(), [&](const Bound& wide) {
    return std::any_of(inner.begin(), inner.end(), [&](const Bound& narrow) {
      return narrow.steps == wide.steps && narrow.low >= wide.low && narrow.high <= wide.high;
    });
  });
}

int64_t count_within(const Dims& shape, const Bounds& bounds) {
  int64_t count = 1;
  for (const Range& range : box_of(shape, bounds)) count *= std::max<int64_t>(range.high - range.low, 0);
  return count;
}

std::optional<IndexFunction> index_function(const Layout& layout, const Bounds& bounds, const Shape& of) {
  if (layout.offset.symbol()) return std::nullopt;
  const std::vector<Range> box = box_of(layout.shape, bounds);
  int64_t at = layout.offset.hint(), count = 1;  // the element at the low corner of the box
  for (size_t j = 0; j < box.size(); ++j) at += box[j].low * layout.strides[static_cast<int>(j)].hint();
  for (Dim extent : of) count *= extent.hint();
  if (at < 0 || at >= count) return std::nullopt;
  const Dims unit = contiguous_strides(of);
  IndexFunction index;
  std::vector<Range> digits;
  for (int k = 0; k < of.rank(); ++k) {
    const int64_t digit = at / unit[k].hint() % of[k].hint();
    digits.push_back({digit, digit});
    index.steps.emplace_back();
    for (size_t j = 0; j < box.size(); ++j) index.steps.back().push_back(0);
  }
  for (size_t j = 0; j < box.size(); ++j) {
    const int64_t stride = layout.strides[static_cast<int>(j)].hint(), length = box[j].high - box[j].low;
    if (length <= 1 || stride == 0) continue;
    int k = 0;  // the first axis whose elements are no further apart
    while (k < of.rank() && (of[k].hint() == 1 || unit[k].hint() > std::abs(stride))) ++k;
    if (k == of.rank() || stride % unit[k].hint() != 0) return std::nullopt;
    const int64_t step = stride / unit[k].hint();
    index.steps[static_cast<size_t>(k)][j] = step;
    add_reach(digits[static_cast<size_t>(k)], length, step);
  }
  for (int k = 0; k < of.rank(); ++k) {
    const Range& digit = digits[static_cast<size_t>(k)];
    if (digit.low < 0 || digit.high >= of[k].hint()) return std::nullopt;
    int64_t start = at / unit[k].hint() % of[k].hint();
    for (size_t j = 0; j < box.size(); ++j) start -= box[j].low * index.steps[static_cast<size_t>(k)][j];
    index.start.push_back(start);
  }
  return index;
}

std::optional<Layout> composed(const Layout& layout, const IndexFunction& index, const Shape& shape) {
  if (layout.offset.symbol()) return std::nullopt;
  Layout out{shape, {}, 0};
  int64_t offset = layout.offset.hint();
  for (size_t k = 0; k < index.start.size(); ++k) offset += index.start[k] * layout.strides[static_cast<int>(k)].hint();
  out.offset = offset;
  for (size_t j = 0; j < static_cast<size_t>(shape.rank()); ++j) {
    int64_t stride = 0;
    for (size_t k = 0; k < index.start.size(); ++k) {
      stride += index.steps[k][j] * layout.strides[static_cast<int>(k)].hint();
    }
    out.strides.push_back(stride);
  }
  return out;
}

Bounds composed(const Bounds& bounds, const IndexFunction& index) {
  Bounds out;
  for (const Bound& bound : bounds) {
    Bound moved{index.steps.empty() ? Ints() : index.steps[0], bound.low, bound.high};
    std::fill(moved.steps.begin(), moved.steps.end(), 0);
    for (size_t k = 0; k < bound.steps.size(); ++k) {
      moved.low -= bound.steps[k] * index.start[k];
      moved.high -= bound.steps[k] * index.start[k];
      for (size_t j = 0; j < moved.steps.size(); ++j) moved.steps[j] += bound.steps[k] * index.steps[k][j];
    }
    out.push_back(moved);
  }
  return out;
}

}  // namespace tsl::graph
