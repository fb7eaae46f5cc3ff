// Defines builtins that rearrange tensors.
#include <algorithm>

#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "tensor/limits.h"
#include "value/context.h"
#include "value/numbers.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

constexpr int64_t kNumberWork = 32;  // to read a number

const std::vector<Value>* sequence_items(const Value& v) {
  if (v.is(Tag::list)) return &v.as<List>().items;
  if (v.is(Tag::tuple)) return &v.as<Tuple>().items;
  return nullptr;
}

// Returns the values from args[1] on, given as f(x, [2, 3]), f(x, tensor([2, 3])) or f(x, 2, 3).
std::vector<Value> spread(Context& context, Args args) {
  if (args.size() == 2) {
    if (auto items = sequence_items(context, args[1])) return *std::move(items);
  }
  return {args.values.begin() + 1, args.values.end()};
}

std::vector<int64_t> spread_ints(Context& context, Args args, const char* what) {
  std::vector<int64_t> ints;
  const std::vector<Value> given = spread(context, args);
  polled_each(given.size(), kNumberWork, [&](size_t i) { ints.push_back(expect_int(context, given[i], what)); });
  return ints;
}

// Reads extents that may be -1; symbols remain symbols.
Shape spread_extents(Context& context, Args args, const char* what) {
  Shape shape;
  for (const Value& v : spread(context, args))  // bounded: a shape takes a few
    shape.push_back(is_host_int(v) ? dim_of(v) : Dim(expect_int(context, v, what)));
  return shape;
}

Value reshape_builtin(Context& context, Args args) {
  return reshape(context.ops(), to_tensor(context, args[0], "reshape"),
                 spread_extents(context, args, "reshape's extent"));
}

Value permute_builtin(Context& context, Args args) {
  return permute(context.ops(), to_tensor(context, args[0], "permute"), spread_ints(context, args, "permute's axis"));
}

Value transpose_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "transpose");
  std::vector<int64_t> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  const int a = expect_axis(context, args[1], x.rank(), "transpose", "axis0"),
            b = expect_axis(context, args[2], x.rank(), "transpose", "axis1");
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return permute(context.ops(), x, order);
}

Value expand_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "expand");
  Shape shape = spread_extents(context, args, "expand's extent");
  const int added = shape.rank() - x.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i].hint() != -1 || !(shape[i] == Dim(-1))) continue;  // extents other than -1 are guarded in expand()
    if (i < added) fail(ErrorName::shape_mismatch, "expand: -1 keeps an extent, but axis {} is new", i);
    shape[i] = x.shape()[i - added];
  }
  return expand(context.ops(), x, shape);
}

Value squeeze_builtin(Context& context, Args args) {
  Tensor x = to_tensor(context, args[0], "squeeze");
  const std::vector<int64_t> axes = expect_axes(context, args[1], x.rank(), "squeeze");
  for (size_t i = axes.size(); i-- > 0;) {
    const Dim extent = x.shape()[static_cast<int>(axes[i])];
    const bool is_one = extent == Dim(1);
    if (!is_one && !args[1].is_nil())
      fail_with(ErrorName::extent_not_one,
                fmt::format("squeeze: axis {} of {} has extent {}, not 1", axes[i], describe(x), extent.hint()),
                {"`squeeze(x)` removes all axes of extent 1; `x[0]` picks one place of an axis"});
    if (is_one) x = select(context.ops(), x, axes[i], 0);
  }
  return x;
}

Value unsqueeze_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "unsqueeze");
  return insert_axis(context.ops(), x, expect_axis(context, args[1], x.rank() + 1, "unsqueeze"));
}

std::vector<Operand> expect_tensors(Context& context, const Value& v, const char* what) {
  std::vector<Operand> tensors;
  if (v.is(Tag::tensor) && v.tensor().rank() > 0) {  // the rows of a tensor
    for (int64_t i = 0, n = v.tensor().shape()[0].pin(); i < n; ++i)
      tensors.emplace_back(select(context.ops(), v.tensor(), 0, i));
  } else if (const std::vector<Value>* items = sequence_items(v)) {
    for (Tensor& item : to_tensors(context, *items, what)) tensors.emplace_back(std::move(item));
  } else {
    fail(ErrorName::wrong_argument_type, "{} takes a list of tensors, not {}", what, type_name(v));
  }
  if (tensors.empty()) {
    fail_with(ErrorName::empty_input, fmt::format("{}: the list is empty", what),
              {"`if len(xs) > 0 { … }` tests whether a list has items"});
  }
  return tensors;
}

Value concat_builtin(Context& context, Args args) {
  const std::vector<Operand> parts = expect_tensors(context, args[0], "concat");
  if (parts[0].tensor.rank() == 0) {
    fail_argument(ErrorName::rank_too_low, "tensors", "concat: tensors without axes have nothing to join along",
                  {"`stack([a, b])` makes a new axis; several tensors are one list: `concat([a, b])`"});
  }
  return concat(context.ops(), parts, expect_axis(context, args[1], parts[0].tensor.rank(), "concat"));
}

Value stack_builtin(Context& context, Args args) {
  std::vector<Operand> parts = expect_tensors(context, args[0], "stack");
  const int axis = expect_axis(context, args[1], parts[0].tensor.rank() + 1, "stack");
  for (Operand& part : parts) {
    if (part.tensor.rank() != parts[0].tensor.rank() || !(part.tensor.shape() == parts[0].tensor.shape())) {
      fail_with(ErrorName::shape_mismatch,
                fmt::format("stack: {} and {} differ", describe(parts[0].tensor), describe(part.tensor)),
                {"stack needs tensors of one shape; concat joins tensors that differ in the extent of one axis"});
    }
  }
  for (Operand& part : parts) part.tensor = insert_axis(context.ops(), part.tensor, axis);
  return concat(context.ops(), parts, axis);
}

// Returns the sizes that a list gives, which must add up to the extent.
std::vector<Dim> listed_sizes(Context& context, std::span<const Value> items, Dim extent, int axis) {
  std::vector<Dim> sizes;
  Dim rest = extent;
  for (const Value& item : items) {
    count_work(kNumberWork);
    const Dim size = expect_size(context, item, "split's size");
    if (size < Dim(0)) fail(ErrorName::negative_size, "split: a size cannot be negative: {}", size.hint());
    if (rest < size)
      fail(ErrorName::split_mismatch, "split: the sizes add up to more than {}, the extent of axis {}", extent.hint(),
           axis);
    sizes.push_back(size);
    rest = rest - size;
  }
  if (!(rest == Dim(0))) {
    fail(ErrorName::split_mismatch, "split: the sizes add up to {}, not to {}, the extent of axis {}",
         (extent - rest).hint(), extent.hint(), axis);
  }
  return sizes;
}

// Returns the sizes of parts of `size` elements; the last may be smaller, and there is at least one.
std::vector<Dim> even_sizes(Dim size, Dim extent) {
  if (size < Dim(1)) {
    fail_argument(ErrorName::argument_out_of_range, "by",
                  fmt::format("split: the size must be positive, not {}", size.hint()),
                  {"`split(x, 2)` makes parts of 2 elements each"});
  }
  if (!(size < extent)) return {extent};
  const int64_t count = ((extent - Dim(1)) / size).pin() + 1;
  require_host_bytes(static_cast<uint64_t>(count) * sizeof(Dim));
  std::vector<Dim> sizes(count, size);
  sizes.back() = extent - size * Dim(count - 1);
  return sizes;
}

// Splits a tensor: split(x, size) into parts of that size, split(x, [2, 3]) into parts of those sizes.
Value split_tensor(Context& context, const Tensor& x, const Value& by, const Value& along) {
  const int axis = expect_axis(context, along, x.rank(), "split");
  const Dim extent = x.shape()[axis];
  const auto items = sequence_items(context, by);
  const std::vector<Dim> sizes = items ? listed_sizes(context, *items, extent, axis)
                                       : even_sizes(expect_size(context, by, "split's size"), extent);
  Collector parts;
  Dim at = 0;
  for (const Dim& size : sizes) {
    parts.add(slice(context.ops(), x, axis, at, size));
    at = at + size;
  }
  return make_list(parts.take());
}

Value split_builtin(Context& context, Args args) {
  if (is_text(args[0])) {
    if (is_host_number(args[1])) {
      fail_argument(ErrorName::wrong_argument_type, "by",
                    fmt::format("split cuts a str at a str, not at {}", type_name(args[1])),
                    {"`split(s, \" \")` cuts at spaces, `split(s, \" \", limit: 1)` at most once"});
    }
    if (args[2].is_nil()) return split_text(context, args[0], args[1], args[3]);
    fail_with(ErrorName::unsuitable_argument, "split: a str has no axis",
              {"split(text, by, limit: 1) cuts at most once"});
  }
  if (!args[0].is(Tag::tensor))
    fail(ErrorName::wrong_argument_type, "split takes a str or a tensor, not {}", type_name(args[0]));
  if (!args[3].is_nil()) fail(ErrorName::unsuitable_argument, "split: limit is for a str, not for a tensor");
  return split_tensor(context, args[0].tensor(), args[1], args[2].is_nil() ? Value(0) : args[2]);
}

Value flip_builtin(Context& context, Args args) {
  Tensor x = to_tensor(context, args[0], "flip");
  for (int64_t axis : expect_axes(context, args[1], x.rank(), "flip")) {
    const Dim extent = x.shape()[static_cast<int>(axis)];
    if (extent == Dim(0)) continue;
    x = slice(context.ops(), x, static_cast<int>(axis), extent - 1, extent, -1);
  }
  return x;
}

Value windows_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "windows");
  const int64_t axis = expect_axis(context, args[1], x.rank(), "windows");
  const int64_t size = expect_int(context, args[2], "windows' size");
  const int64_t step = expect_int(context, args[3], "windows' step");
  const int64_t dilation = expect_int(context, args[4], "windows' dilation");
  return context.ops().call(Op::windows, {x}, {.axis = axis, .step = step, .size = size, .dilation = dilation});
}

struct Margins {
  int64_t before = 0, after = 0;
};

int64_t expect_margin(Context& context, const Value& v) {
  const int64_t margin = expect_int(context, v, "pad's width");
  if (margin < 0) fail(ErrorName::negative_size, "pad: a width cannot be negative: {}", margin);
  if (margin > kMaxTensorBytes)
    fail(ErrorName::tensor_too_large, "pad: a width of {} is beyond any memory", margin);  // and must not wrap around
  return margin;
}

// Reads margins: an int for all axes; [(before, after), …] per axis; or PyTorch's [left, right, top, bottom, …], which
// starts at the last axis.
std::vector<Margins> expect_margins(Context& context, const Value& v, int rank) {
  std::vector<Margins> margins(static_cast<size_t>(rank));
  const auto items = sequence_items(context, v);
  if (!items) {
    const int64_t width = expect_margin(context, v);
    std::fill(margins.begin(), margins.end(), Margins{width, width});
  } else if (!items->empty() && sequence_items(items->front())) {
    if (items->size() != margins.size())
      fail(ErrorName::rank_mismatch, "pad: {} pairs of widths for rank {}", items->size(), rank);
    for (size_t axis = 0; axis < margins.size(); ++axis) {
      const std::vector<Value>* pair = sequence_items((*items)[axis]);
      if (!pair || pair->size() != 2) fail(ErrorName::length_mismatch, "pad: each axis takes a pair (before, after)");
      margins[axis] = {expect_margin(context, (*pair)[0]), expect_margin(context, (*pair)[1])};
    }
  } else {
    if (items->size() % 2 != 0 || items->size() / 2 > margins.size()) {
      fail(ErrorName::rank_mismatch, "pad: {} widths for rank {}; two per axis, from the last on", items->size(), rank);
    }
    for (size_t i = 0; i < items->size() / 2; ++i) {  // bounded: two for each axis
      margins[margins.size() - 1 - i] = {expect_margin(context, (*items)[2 * i]),
                                         expect_margin(context, (*items)[2 * i + 1])};
    }
  }
  return margins;
}

Tensor pad_constant(Context& context, const Tensor& x, const std::vector<Margins>& margins, const Value& value) {
  Shape shape = x.shape();
  Attrs attrs;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Margins& margin = margins[static_cast<size_t>(axis)];
    shape[axis] = sum_of_extents("pad", sum_of_extents("pad", shape[axis], margin.before), margin.after);
  }
  attrs.view = Layout::contiguous(shape);
  for (int axis = 0; axis < x.rank(); ++axis) {
    attrs.view = slice(attrs.view, axis, margins[static_cast<size_t>(axis)].before, x.shape()[axis], 1);
  }
  return context.ops().call(Op::assign_view, {fill(context.ops(), shape, x.dtype(), operand_of(value)), x}, attrs);
}

// What a margin that is no constant repeats: the mirror image without the edge, the edge, or the opposite end.
enum class Border { reflect, replicate, circular };

Border border_of(std::string_view mode) {
  if (mode == "reflect") return Border::reflect;
  return mode == "replicate" || mode == "edge" ? Border::replicate : Border::circular;
}

// Returns x between margins along one axis, made of views of x.
Tensor pad_axis(Ops& ops, const Tensor& x, int axis, const Margins& margin, Border border) {
  const Dim n = x.shape()[axis];
  const int64_t longest = std::max(margin.before, margin.after);
  const Dim needed = Dim(border == Border::reflect ? longest + 1 : border == Border::circular ? longest : 1);
  if (n < needed) {
    fail(ErrorName::window_too_long, "pad: a margin of {} needs {} elements along axis {}, which has {}", longest,
         needed.hint(), axis, n.hint());
  }
  const auto edge = [&](Dim start, int64_t width) {
    Shape shape = x.shape();
    shape[axis] = width;
    return expand(ops, slice(ops, x, axis, start, 1), shape);
  };
  std::vector<Operand> parts;
  if (margin.before != 0) {
    parts.push_back(border == Border::reflect    ? slice(ops, x, axis, margin.before, margin.before, -1)
                    : border == Border::circular ? slice(ops, x, axis, n - margin.before, margin.before)
                                                 : edge(0, margin.before));
  }
  parts.push_back(x);
  if (margin.after != 0) {
    parts.push_back(border == Border::reflect    ? slice(ops, x, axis, n - 2, margin.after, -1)
                    : border == Border::circular ? slice(ops, x, axis, 0, margin.after)
                                                 : edge(n - 1, margin.after));
  }
  return concat(ops, parts, axis);
}

Value pad_builtin(Context& context, Args args) {
  Tensor x = to_tensor(context, args[0], "pad");
  if (!is_host_number(args[2]))
    fail(ErrorName::wrong_argument_type, "pad's value must be a number, not {}", type_name(args[2]));
  const std::vector<Margins> margins = expect_margins(context, args[1], x.rank());
  const bool changes =
      std::any_of(margins.begin(), margins.end(), [](const Margins& m) { return m.before != 0 || m.after != 0; });
  if (!changes) return x;
  const std::string& mode = expect_string(context, args[3], "pad's mode");
  if (mode == "constant") return pad_constant(context, x, margins, args[2]);
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Margins& margin = margins[static_cast<size_t>(axis)];
    if (margin.before != 0 || margin.after != 0) x = pad_axis(context.ops(), x, axis, margin, border_of(mode));
  }
  return x;
}

constexpr Builtin kShapeRows[] = {
    {"reshape", "reshape(x: array, shape: integers, ...more: integer)",
     "the same elements in another shape; one extent may be -1", reshape_builtin, "shape"},
    {"transpose", "transpose(x: array, axis0: integer = -2, axis1: integer = -1)", "x with two axes swapped",
     transpose_builtin, "shape"},
    {"permute", "permute(x: array, order: integers, ...more: integer)", "x with its axes in another order",
     permute_builtin, "shape"},
    {"expand", "expand(x: array, shape: integers, ...more: integer)", "x broadcast to a shape; -1 keeps an extent",
     expand_builtin, "shape"},
    {"squeeze", "squeeze(x: array, axis: integers | nil = nil)",
     "x without axes of extent 1: all of them, or those named", squeeze_builtin, "shape"},
    {"unsqueeze", "unsqueeze(x: array, axis: integer)", "x with a new axis of extent 1", unsqueeze_builtin, "shape"},
    {"concat", "concat(tensors: list | tuple | tensor, axis: integer = 0)", "tensors one after the other along an axis",
     concat_builtin, "shape"},
    {"stack", "stack(tensors: list | tuple | tensor, axis: integer = 0)", "tensors of one shape along a new axis",
     stack_builtin, "shape"},
    {"split",
     "split(x: tensor | str, by: integers | str | nil = nil, axis: integer | nil = nil, limit: integer | nil = nil)",
     "a tensor in pieces of size `by`, or of the sizes in the list `by`, along an axis (nil: the first); a str at each "
     "`by`, or at white space, at most limit times",
     split_builtin, "shape"},
    {"flip", "flip(x: array, axis: integers | nil = nil)", "x in reverse order along axes", flip_builtin, "shape"},
    {"pad",
     "pad(x: array, pad: integers | list | tuple, value: number | bool = 0, "
     "mode: \"constant\" | \"reflect\" | \"replicate\" | \"edge\" | \"circular\" | \"wrap\" = \"constant\")",
     "x with a margin: one width for all sides, [(before, after), …] per axis, or [left, right, top, bottom, …]; it "
     "holds "
     "value, or by mode the mirror image without the edge, the edge (replicate, edge), or the opposite end (circular, "
     "wrap)",
     pad_builtin, "shape"},
    {"windows", "windows(x: array, axis: integer, size: integer, step: integer = 1, dilation: integer = 1)",
     "a view of the windows that slide along an axis; each window's elements lie along a new last axis",
     windows_builtin, "shape"},
};

}  // namespace

std::span<const Builtin> shape_builtins() { return kShapeRows; }

}  // namespace tsl
