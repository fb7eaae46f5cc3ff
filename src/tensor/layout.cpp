#include "tensor/layout.h"

#include "base/error_names.h"
#include "tensor/ints.h"
#include "tensor/limits.h"

namespace tsl {

void Dims::fail_too_long() { fail(ErrorName::too_many_dimensions, "a tensor has at most {} dimensions", kMaxRank); }

void Ints::fail_too_long() { fail(ErrorName::too_many_dimensions, "a tensor has at most {} dimensions", kMaxRank); }

void Dims::insert(int at, Dim d) {
  push_back(d);
  std::rotate(begin() + at, end() - 1, end());
}

void Dims::erase(int at) {
  std::copy(begin() + at + 1, end(), begin() + at);
  --rank_;
}

bool operator==(const Dims& a, const Dims& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

namespace {

bool is_constant(Dim d, int64_t value) { return !d.symbol() && d.hint() == value; }

bool is_empty(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](Dim d) { return d == 0; });
}

}  // namespace

Dim element_count(const Shape& shape) {
  if (!count_if_representable(shape))
    fail(ErrorName::tensor_too_large, "{} has too many elements to count", to_string(shape));
  Dim count = 1;
  for (Dim extent : shape) count = count * extent;
  return count;
}

namespace {

[[noreturn]] void fail_on_extent(std::string_view op, Dim a, char sign, Dim b) {
  fail(ErrorName::integer_overflow, "{}: an extent of {} {} {} does not fit 64 bits", op, a.hint(), sign, b.hint());
}

}  // namespace

Dim sum_of_extents(std::string_view op, Dim a, Dim b) {
  int64_t sum;
  if (__builtin_add_overflow(a.hint(), b.hint(), &sum)) fail_on_extent(op, a, '+', b);
  return a + b;
}

Dim product_of_extents(std::string_view op, Dim a, Dim b) {
  int64_t product;
  if (__builtin_mul_overflow(a.hint(), b.hint(), &product)) fail_on_extent(op, a, '*', b);
  return a * b;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i].hint());
  }
  return text + "]";
}

Dims contiguous_strides(const Shape& shape) {
  Dims strides = shape;
  Dim stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride = stride * shape[i];
  }
  return strides;
}

Dims in_run(const Dims& dims, std::span<const Scalar> symbols) {
  Dims out;
  for (Dim d : dims) out.push_back(d.in_run(symbols));
  return out;
}

Layout in_run(const Layout& layout, std::span<const Scalar> symbols) {
  return {in_run(layout.shape, symbols), in_run(layout.strides, symbols), layout.offset.in_run(symbols)};
}

Dims without_symbols(const Dims& dims) {
  Dims out;
  for (Dim d : dims) out.push_back(d.hint());
  return out;
}

Layout without_symbols(const Layout& layout) {
  return {without_symbols(layout.shape), without_symbols(layout.strides), layout.offset.hint()};
}

bool Layout::is_contiguous() const {
  Dim expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (is_constant(shape[i], 1)) continue;
    if (!(strides[i] == expected)) {
      if (shape[i] == 1) continue;
      return is_empty(shape);
    }
    expected = expected * shape[i];
  }
  return true;
}

namespace {

/// Returns a list of axes as it is written: "1, 0".
std::string axes_text(int rank) {
  std::string text;
  for (int i = 0; i < rank; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  return text;
}

std::vector<std::string> hints_for_order(int rank) {
  if (rank == 0) return {};
  return {fmt::format("each axis is named once, as in `permute(x, {})`", axes_text(rank))};
}

/// Returns the arguments of a reshape that makes one extent of `wanted` what fits; "" if none fits.
std::string fitting_extents(int64_t count, const Shape& wanted) {
  for (int at = wanted.rank(); at-- > 0;) {
    int64_t others = 1;
    for (int i = 0; i < wanted.rank(); ++i) others *= i == at ? 1 : wanted[i].hint();
    if (others <= 0 || count % others != 0) continue;
    std::string text;
    for (int i = 0; i < wanted.rank(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", i == at ? -1 : wanted[i].hint());
    return text;
  }
  return "";
}

std::vector<std::string> hints_for_reshape(int64_t count, const Shape& wanted) {
  const std::string fitting = fitting_extents(count, wanted);
  if (!fitting.empty()) return {fmt::format("`reshape(x, {})` fits: -1 stands for what is left", fitting)};
  return {fmt::format("the extents of the new shape must have the product {}", count)};
}

}  // namespace

int normalize_axis(int64_t axis, int rank, const char* op) {
  if (axis < -rank || axis >= rank) {
    std::vector<std::string> hints;
    if (rank > 0)
      hints.push_back(rank == 1 ? "the only axis is 0, or -1"
                                : fmt::format("axes go from 0 to {}, or from -{} to -1", rank - 1, rank));
    fail_with(ErrorName::axis_out_of_range,
              fmt::format("{}: axis {} is out of range for {} dimension{}", op, axis, rank, rank == 1 ? "" : "s"),
              std::move(hints));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Layout permute(const Layout& in, std::span<const int> order) {
  const int rank = in.rank();
  if (static_cast<int>(order.size()) != rank) {
    fail_with(ErrorName::rank_mismatch,
              fmt::format("permute: an order of {} axes does not fit shape {}", order.size(), to_string(in.shape)),
              hints_for_order(rank));
  }
  Layout out;
  out.offset = in.offset;
  unsigned seen = 0;
  for (int given : order) {
    const int axis = normalize_axis(given, rank, "permute");
    if (seen & (1u << axis)) {
      fail_with(ErrorName::repeated_axis, fmt::format("permute: axis {} appears twice", given), hints_for_order(rank));
    }
    seen |= 1u << axis;
    out.shape.push_back(in.shape[axis]);
    out.strides.push_back(in.strides[axis]);
  }
  return out;
}

Layout expand(const Layout& in, const Shape& shape) {
  const int added = shape.rank() - in.rank();
  if (added < 0)
    fail(ErrorName::shape_mismatch, "expand: cannot expand {} to {}", to_string(in.shape), to_string(shape));
  Layout out{shape, shape, in.offset};
  for (int i = 0; i < shape.rank(); ++i) {
    const Dim from = i < added ? Dim(1) : in.shape[i - added];
    if (from.same(shape[i]) && i >= added) {
      out.strides[i] = in.strides[i - added];
    } else if (!is_constant(from, 1) && from == shape[i]) {
      out.strides[i] = in.strides[i - added];
    } else if (from == 1) {
      if (shape[i] < 0) fail(ErrorName::negative_size, "expand: {} has a negative size", to_string(shape));
      out.strides[i] = 0;
    } else {
      fail_with(ErrorName::shape_mismatch,
                fmt::format("expand: cannot expand {} to {}", to_string(in.shape), to_string(shape)),
                {"only new axes and those of extent 1 are expanded; `tile(x, reps)` repeats others"});
    }
  }
  return out;
}

Layout insert_axis(const Layout& in, int axis) {
  const int at = normalize_axis(axis, in.rank() + 1, "insert_axis");
  Layout out = in;
  // Uses the stride that keeps a contiguous layout contiguous.
  const Dim stride = at < in.rank() ? in.shape[at] * in.strides[at] : Dim(1);
  out.shape.insert(at, 1);
  out.strides.insert(at, stride);
  return out;
}

Layout remove_axis(const Layout& in, int axis) {
  const int at = normalize_axis(axis, in.rank(), "squeeze");
  if (!(in.shape[at] == 1)) {
    fail(ErrorName::extent_not_one, "squeeze: axis {} of {} has extent {}, not 1", axis, to_string(in.shape),
         in.shape[at].hint());
  }
  Layout out = in;
  out.shape.erase(at);
  out.strides.erase(at);
  return out;
}

Layout slice(const Layout& in, int axis, Dim start, Dim count, int64_t step) {
  const int at = normalize_axis(axis, in.rank(), "slice");
  if (step == 0) fail(ErrorName::zero_step, "slice: the step must not be 0");
  if (count < 0) fail(ErrorName::negative_size, "slice: the count must not be negative, got {}", count.hint());
  Layout out = in;
  out.shape[at] = count;
  out.strides[at] = in.strides[at] * step;
  if (count < 1) return out;  // no elements, so any start is valid
  const Dim last = start + (count - 1) * step;
  const Dim lowest = step > 0 ? start : last;
  const Dim highest = step > 0 ? last : start;
  if (lowest < 0 || !(highest < in.shape[at])) {
    fail(ErrorName::index_out_of_range, "slice: elements {} to {} are out of range for axis {} of {}", start.hint(),
         last.hint(), at, to_string(in.shape));
  }
  out.offset = in.offset + start * in.strides[at];
  return out;
}

Layout select(const Layout& in, int axis, Dim index) {
  const int at = normalize_axis(axis, in.rank(), "select");
  const Dim from_start = index < 0 ? index + in.shape[at] : index;
  if (from_start < 0 || !(from_start < in.shape[at])) {
    fail(ErrorName::index_out_of_range, "index {} is out of range for axis {} of extent {}", index.hint(), at,
         in.shape[at].hint());
  }
  Layout out = in;
  out.offset = in.offset + from_start * in.strides[at];
  out.shape.erase(at);
  out.strides.erase(at);
  return out;
}

Layout windows(const Layout& in, int axis, int64_t size, int64_t step, int64_t dilation) {
  const int at = normalize_axis(axis, in.rank(), "windows");
  if (size < 1 || step < 1 || dilation < 1) {
    fail(ErrorName::argument_out_of_range, "windows: size, step and dilation must be positive, got {}, {} and {}", size,
         step, dilation);
  }
  int64_t reach = 0;  // from the first to the last element of a window
  if (__builtin_mul_overflow(size - 1, dilation, &reach) || !(Dim(reach) < in.shape[at])) {
    fail(ErrorName::window_too_long, "windows: a window of {} (dilation {}) is longer than axis {} of {}", size,
         dilation, at, to_string(in.shape));
  }
  Layout out = in;
  out.shape[at] = (in.shape[at] - (reach + 1)) / step + 1;
  out.strides[at] = in.strides[at] * step;
  out.shape.push_back(size);
  out.strides.push_back(in.strides[at] * dilation);
  return out;
}

Layout as_strided(const Layout& in, const Layout& view) {
  int64_t lowest = view.offset.hint(), highest = lowest;
  bool empty = false;
  for (int i = 0; i < view.rank(); ++i) {
    const int64_t reach = (view.shape[i].hint() - 1) * view.strides[i].hint();
    empty |= view.shape[i].hint() == 0;
    (reach < 0 ? lowest : highest) += reach;
  }
  // Checks this run only: views are made in checked steps, whose guards cover later runs.
  if (!empty && (lowest < 0 || highest >= element_count(in.shape).hint())) {
    fail(ErrorName::index_out_of_range, "a view of shape {} leaves a tensor of shape {}", to_string(view.shape),
         to_string(in.shape));
  }
  Layout out = view;
  out.offset = in.offset + view.offset;
  return out;
}

namespace {
bool has_extent(const Shape& shape, Dim extent) {
  return std::any_of(shape.begin(), shape.end(), [&](Dim d) { return d.same(extent); });
}
}  // namespace

Shape resolve_reshape(const Shape& in, const Shape& wanted) {
  int rest = -1;
  Shape known;
  for (int i = 0; i < wanted.rank(); ++i) {
    if (wanted[i].hint() == -1 && rest < 0 && wanted[i] == -1) rest = i;
    else if (has_extent(in, wanted[i]) || !(wanted[i] < 0)) known.push_back(wanted[i]);
    else {
      fail_with(ErrorName::negative_size, fmt::format("reshape: {} has a negative size", to_string(wanted)),
                {"one extent may be -1: it stands for what is left"});
    }
  }
  if (rest < 0) return wanted;
  const Dim count = element_count(in), divisor = element_count(known);
  if (divisor == 0 || !(count / divisor * divisor == count)) {
    fail_with(ErrorName::reshape_mismatch,
              fmt::format("reshape: {} has {} elements, which do not fill {}", to_string(in), count.hint(),
                          to_string(wanted)),
              {fmt::format("the extents beside -1 must have a product that divides {}", count.hint())});
  }
  Shape out = wanted;
  out[rest] = count / divisor;
  return out;
}

namespace {

// Whether axes [begin, end) of a layout can be one axis: each stride is the next axis's stride times its extent.
bool is_mergeable(const Layout& in, int begin, int end) {
  for (int i = begin; i + 1 < end; ++i) {
    if (!(in.strides[i] == in.shape[i + 1] * in.strides[i + 1])) return false;
  }
  return true;
}

Layout without_unit_axes(const Layout& in) {
  Layout out;
  out.offset = in.offset;
  for (int i = 0; i < in.rank(); ++i) {
    if (is_constant(in.shape[i], 1)) continue;
    out.shape.push_back(in.shape[i]);
    out.strides.push_back(in.strides[i]);
  }
  return out;
}

// Pairs runs of old axes with runs of new ones that have equally many elements. In each pair the old axes must merge,
// and the new ones divide the merged axis. Hints decide where runs end; the equality of each pair is guarded.
std::optional<Layout> regroup(const Layout& given, const Shape& shape) {
  const Layout in = without_unit_axes(given);
  Layout out{shape, shape, in.offset};
  int old_end = 0, new_end = 0;
  while (old_end < in.rank() && new_end < shape.rank()) {
    const int old_begin = old_end, new_begin = new_end;
    Dim old_count = in.shape[old_end++], new_count = shape[new_end++];
    while (!(old_count == new_count)) {
      if (new_count.hint() < old_count.hint() && new_end < shape.rank()) new_count = new_count * shape[new_end++];
      else if (new_count.hint() > old_count.hint() && old_end < in.rank()) old_count = old_count * in.shape[old_end++];
      else return std::nullopt;
    }
    if (!is_mergeable(in, old_begin, old_end)) return std::nullopt;
    Dim stride = in.strides[old_end - 1];
    for (int i = new_end - 1; i >= new_begin; --i) {
      out.strides[i] = stride;
      stride = stride * shape[i];
    }
  }
  if (old_end < in.rank()) return std::nullopt;
  for (; new_end < shape.rank(); ++new_end) {  // only extents of 1 remain
    if (!(shape[new_end] == 1)) return std::nullopt;
    out.strides[new_end] = 1;
  }
  return out;
}

}  // namespace

std::optional<Layout> reshape(const Layout& in, const Shape& shape) {
  const Dim count = element_count(in.shape), wanted = element_count(shape);
  if (!(count == wanted)) {
    fail_with(ErrorName::reshape_mismatch,
              fmt::format("reshape: {} has {} elements, {} has {}", to_string(in.shape), count.hint(), to_string(shape),
                          wanted.hint()),
              hints_for_reshape(count.hint(), shape));
  }
  if (in.is_contiguous()) return Layout{shape, contiguous_strides(shape), in.offset};
  return regroup(in, shape);
}

namespace {

// Returns the extent that two extents broadcast to. Of equal extents it prefers a constant to a symbol.
std::optional<Dim> broadcast_extent(Dim a, Dim b) {
  if (is_constant(a, 1)) return b;
  if (is_constant(b, 1)) return a;
  if (a == b) return a.symbol() ? b : a;
  if (a == 1) return b;
  if (b == 1) return a;
  return std::nullopt;
}

}  // namespace

std::optional<Shape> try_broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  const int added = longer.rank() - shorter.rank();
  Shape out = longer;
  for (int i = 0; i < shorter.rank(); ++i) {
    const std::optional<Dim> extent = broadcast_extent(longer[added + i], shorter[i]);
    if (!extent) return std::nullopt;
    out[added + i] = *extent;
  }
  return out;
}

Shape broadcast(const Shape& a, const Shape& b, const char* op) {
  std::optional<Shape> shape = try_broadcast(a, b);
  if (!shape) fail(ErrorName::shape_mismatch, "{}: cannot broadcast {} with {}", op, to_string(a), to_string(b));
  return *shape;
}

}  // namespace tsl
