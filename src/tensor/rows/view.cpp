// Defines views: ops that only change the layout.
#include <array>

#include "base/error_names.h"
#include "tensor/limits.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

// Layouts
// -------------------------------------------------------------------------------------------------------

Layout view_permute(const Layout& in, const Attrs& attrs) {
  std::array<int, kMaxRank> order;
  std::copy(attrs.axes.begin(), attrs.axes.end(), order.begin());
  return permute(in, std::span<const int>(order.data(), attrs.axes.size()));
}

Layout view_expand(const Layout& in, const Attrs& attrs) { return expand(in, attrs.shape); }

Layout view_reshape(const Layout& in, const Attrs& attrs) {
  std::optional<Layout> out = reshape(in, attrs.shape);
  if (!out)
    fail(ErrorName::reshape_mismatch, "reshape: no strides view {} as {}", to_string(in.shape), to_string(attrs.shape));
  return *out;
}

Layout view_slice(const Layout& in, const Attrs& attrs) {
  return slice(in, static_cast<int>(attrs.axis), attrs.start, attrs.count, attrs.step);
}

Layout view_select(const Layout& in, const Attrs& attrs) {
  return select(in, static_cast<int>(attrs.axis), attrs.start);
}

Layout view_insert_axis(const Layout& in, const Attrs& attrs) { return insert_axis(in, static_cast<int>(attrs.axis)); }

Layout view_windows(const Layout& in, const Attrs& attrs) {
  return windows(in, static_cast<int>(attrs.axis), attrs.size, attrs.step, attrs.dilation);
}

Layout view_as_strided(const Layout& in, const Attrs& attrs) { return as_strided(in, attrs.view); }

// Infers the type of a view from its layout function; only the operand's shape matters.
template <Layout (*kView)(const Layout&, const Attrs&)> TensorType infer_view(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  return {x.dtype(), kView(Layout::contiguous(x.shape()), attrs).shape};
}

// Normalisation
// ---------------------------------------------------------------------------------------------------

Tensor prepare_permute(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const auto is_negative = [](int64_t axis) { return axis < 0; };
  if (std::none_of(attrs.axes.begin(), attrs.axes.end(), is_negative)) return {};
  Attrs formed = attrs;
  for (int64_t& axis : formed.axes) axis = normalize_axis(axis, operands[0].tensor.rank(), "permute");
  return ops.call(op, operands, formed);
}

Tensor prepare_insert_axis(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const int axis = normalize_axis(attrs.axis, operands[0].tensor.rank() + 1, "insert_axis");
  if (axis == attrs.axis) return {};
  Attrs formed = attrs;
  formed.axis = axis;
  return ops.call(op, operands, formed);
}

Tensor prepare_expand(Ops&, Op, Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  return same(x.shape(), attrs.shape) ? x : Tensor();
}

Tensor prepare_reshape(Ops& ops, Op, Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  const Shape shape = resolve_reshape(x.shape(), attrs.shape);
  if (!same(shape, attrs.shape) || same(shape, x.shape())) return reshape(ops, x, shape);
  if (!reshape(x.layout(), shape)) return reshape(ops, copy(ops, x), shape);
  return {};
}

Tensor prepare_as_strided(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  return x.layout().is_contiguous() ? Tensor() : ops.call(op, {copy(ops, x)}, attrs);
}

// Derivatives
// ---------------------------------------------------------------------------------------------------

void vjp_permute(VjpCall& call) {
  Ints inverse = call.attrs.axes;
  for (size_t i = 0; i < inverse.size(); ++i)
    inverse[static_cast<size_t>(call.attrs.axes[i])] = static_cast<int64_t>(i);
  call.grads[0] = permute(call.ops, call.grad, inverse);
}

// Sums over the axes that were repeated.
void vjp_expand(VjpCall& call) {
  const Shape& from = call.inputs[0].tensor.shape();
  const Shape& to = call.grad.shape();
  const int added = to.rank() - from.rank();
  Ints repeated;
  for (int i = 0; i < to.rank(); ++i) {
    if (i < added || (!from[i - added].same(to[i]) && !(from[i - added] == to[i]))) repeated.push_back(i);
  }
  call.grads[0] = reshape(call.ops, sum(call.ops, call.grad, repeated, false), from);
}

void vjp_reshape(VjpCall& call) { call.grads[0] = reshape(call.ops, call.grad, call.inputs[0].tensor.shape()); }

// Whether two layouts surely have the same elements in the same order.
bool walks_alike(const Layout& a, const Layout& b) {
  const auto steps = [](const Layout& layout) {
    Layout out{{}, {}, layout.offset};
    for (int i = 0; i < layout.rank(); ++i) {
      if (layout.shape[i].same(1)) continue;
      out.shape.push_back(layout.shape[i]);
      out.strides.push_back(layout.strides[i]);
    }
    return out;
  };
  return same(steps(a), steps(b));
}

// Derivative of views that select elements: embeds the gradient at their positions. A view that selects everything
// needs no embedding, but calls an op as well: symbolic sizes may hide this case, and the order of calls fixes the
// order in which second-order gradients are added.
template <Layout (*kView)(const Layout&, const Attrs&)> void vjp_pick(VjpCall& call) {
  const Shape& shape = call.inputs[0].tensor.shape();
  const Layout all = Layout::contiguous(shape), picked = kView(all, call.attrs);
  if (walks_alike(picked, all)) call.grads[0] = reshape(call.ops, alias(call.ops, call.grad), shape);
  else if (call.embedded) *call.embedded = {call.grad, picked};
  else call.grads[0] = embed(call.ops, call.grad, shape, picked);
}

void vjp_windows(VjpCall& call) {
  Attrs fold;
  fold.axis = call.attrs.axis;
  fold.count = call.inputs[0].tensor.shape()[static_cast<int>(fold.axis)];
  fold.step = call.attrs.step;
  fold.dilation = call.attrs.dilation;
  call.grads[0] = call.ops.call(Op::fold_windows, {call.grad}, fold);
}

OpDef view_row(Op op, std::string_view name, std::string_view signature, std::string_view doc) {
  return {.op = op,
          .name = name,
          .signature = signature,
          .doc = doc,
          .traits = unfused_traits(Category::copy, AxisUse::none, 0.0),
          .arity = 1};
}

OpDef repeating(OpDef row) {
  row.repeats = true;
  return row;
}

template <Layout (*kView)(const Layout&, const Attrs&)>
void add_view(Table& table, OpDef row, Tensor (*prepare)(Ops&, Op, Operands, const Attrs&), void (*vjp)(VjpCall&),
              Results (*batch)(const BatchCall&) = batch_axis) {
  row.prepare = prepare;
  row.infer = infer_view<kView>;
  row.view = kView;
  row.vjp = vjp;
  row.batch = batch;
  table.add(row);
}

}  // namespace

void add_views(Table& table) {
  add_view<view_permute>(table,
                         view_row(Op::permute, "permute", "permute(x, order)", "x with its axes in another order"),
                         prepare_permute, vjp_permute, batch_permute);
  add_view<view_expand>(
      table, repeating(view_row(Op::expand, "expand", "expand(x, shape)", "x repeated along axes of extent 1")),
      prepare_expand, vjp_expand, batch_expand);
  add_view<view_reshape>(
      table, view_row(Op::reshape, "reshape", "reshape(x, shape)", "the elements of x, in order, in another shape"),
      prepare_reshape, vjp_reshape, batch_reshape);
  add_view<view_slice>(table, view_row(Op::slice, "slice", "", "every step-th element along an axis"), prepare_axis,
                       vjp_pick<view_slice>);
  add_view<view_select>(table, view_row(Op::select, "select", "", "one index along an axis, which goes"), prepare_axis,
                        vjp_pick<view_select>);
  add_view<view_insert_axis>(
      table, view_row(Op::insert_axis, "insert_axis", "unsqueeze(x, axis)", "x with a new axis of extent 1"),
      prepare_insert_axis, vjp_reshape);
  add_view<view_windows>(table, repeating(view_row(Op::windows, "windows", "", "sliding windows along an axis")),
                         prepare_axis, vjp_windows);
  add_view<view_as_strided>(table, view_row(Op::as_strided, "as_strided", "", "the elements of x that a layout picks"),
                            prepare_as_strided, vjp_pick<view_as_strided>, batch_strided);
}

}  // namespace tsl::rows
