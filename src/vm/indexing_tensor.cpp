#include "vm/indexing_tensor.h"

#include <array>

#include "base/error_names.h"
#include "tensor/promotion.h"
#include "value/context.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "vm/index_plan.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

Tensor apply_views(Ops& ops, Tensor x, const IndexPlan& plan) {
  for (const IndexPlan::View& view : plan.views) x = ops.call(view.op, {x}, view.attrs);
  return x;
}

/// The picks of a plan in the form of take and scatter: the picked axes are moved to the front and merged into one,
/// with one index into it.
struct Gather {
  Tensor base;                 // [n, rest…]
  Tensor index;                // [idx…]
  std::vector<int64_t> order;  // the permutation of the view's axes before merging
  Shape ordered;               // the view's shape in that order
  int index_rank = 0;
  int position = 0;  // where idx… is inserted among rest…
};

Tensor from_end(Ops& ops, const Tensor& index, Dim extent) {
  const Operand n = operand_of(from_dim(extent));
  return ops.call(Op::where, {ops.call(Op::lt, {index, Scalar::of(int64_t{0})}), ops.call(Op::add, {index, n}), index});
}

// Combines several indices to a row-major position. An index out of its own range is mapped out of the whole range, so
// that the gather reports it.
Tensor joined_index(Ops& ops, const std::vector<IndexPlan::Pick>& picks, const Shape& view) {
  Tensor joined, valid;
  Dim total = int64_t{1};
  for (const IndexPlan::Pick& pick : picks) {
    const Dim extent = view[pick.axis];
    total = total * extent;
    Tensor index = as_index(ops, pick.index);
    if (!pick.is_checked) {
      index = from_end(ops, index, extent);
      const Tensor in_range = ops.call(Op::bit_and, {ops.call(Op::ge, {index, Scalar::of(int64_t{0})}),
                                                     ops.call(Op::lt, {index, operand_of(from_dim(extent))})});
      valid = valid ? ops.call(Op::bit_and, {valid, in_range}) : in_range;
    }
    joined = joined ? ops.call(Op::add, {ops.call(Op::mul, {joined, operand_of(from_dim(extent))}), index}) : index;
  }
  return valid ? ops.call(Op::where, {valid, joined, operand_of(from_dim(total))}) : joined;
}

Gather prepare_gather(Ops& ops, const Tensor& view, const IndexPlan& plan) {
  Gather gather;
  std::vector<int64_t> picked;
  for (const IndexPlan::Pick& pick : plan.picks) picked.push_back(pick.axis);
  gather.order = order_with_front(view.rank(), picked);
  const Tensor ordered = picked.size() == 1 && picked[0] == 0 ? view : permute(ops, view, gather.order);
  gather.ordered = ordered.shape();
  gather.position = plan.position;
  if (picked.size() == 1) {
    gather.base = ordered;
    gather.index = as_index(ops, plan.picks[0].index);
  } else {
    const int count = static_cast<int>(picked.size());
    Shape joined{extent_product(gather.ordered, 0, count)};
    for (int i = count; i < view.rank(); ++i) joined.push_back(gather.ordered[i]);
    gather.base = reshape(ops, ordered, joined);
    gather.index = joined_index(ops, plan.picks, view.shape());
  }
  gather.index_rank = gather.index.rank();
  return gather;
}

/// Returns the order of axes that moves idx… from the front to its position.
std::vector<int64_t> placed_order(const Gather& gather, int rank) {
  std::vector<int64_t> order;
  for (int i = 0; i < gather.position; ++i) order.push_back(gather.index_rank + i);
  for (int i = 0; i < gather.index_rank; ++i) order.push_back(i);
  for (int i = gather.index_rank + gather.position; i < rank; ++i) order.push_back(i);
  return order;
}

Tensor run_gather(Ops& ops, const Gather& gather) {
  const Tensor rows = take(ops, gather.base, gather.index, 0);
  return gather.position == 0 || gather.index_rank == 0 ? rows : permute(ops, rows, placed_order(gather, rows.rank()));
}

Shape gathered_shape(const Gather& gather) {
  Shape shape = gather.index.shape();
  for (int i = 1; i < gather.base.rank(); ++i) shape.push_back(gather.base.shape()[i]);
  return shape;  // [idx…, rest…]
}

/// Converts a value for an assignment to x's dtype.
Tensor value_tensor(Context& context, const Value& value, DType dtype) {
  if (is_host_number(value)) return fill(context.ops(), Shape(), dtype, operand_of(value));
  return to_tensor_of(context, dtype, value, "the assigned value");
}

Tensor fit(Ops& ops, const Tensor& value, const Shape& shape) {
  Tensor fitted = value;
  while (fitted.rank() > shape.rank() && fitted.shape()[0] == Dim(int64_t{1}))
    fitted = select(ops, fitted, 0, int64_t{0});
  if (fitted.rank() == shape.rank() && fitted.shape() == shape) return fitted;
  const std::optional<Shape> both = try_broadcast(fitted.shape(), shape);
  if (!both || *both != shape) {
    fail_with(ErrorName::shape_mismatch,
              fmt::format("cannot assign a tensor of shape {} to a part of shape {}", to_string(value.shape()),
                          to_string(shape)),
              {"axes are matched from the last on: those of the value must have the part's extents, or 1"});
  }
  return expand(ops, fitted, shape);
}

/// Stores a changed view into x.
Tensor put_view(Ops& ops, const Tensor& x, const IndexPlan& plan, const Tensor& changed) {
  if (plan.views.empty()) return changed;
  Attrs attrs;
  attrs.view = plan.view;
  return ops.call(Op::assign_view, {x, fit(ops, changed, plan.view.shape)}, attrs);
}

Tensor scatter_back(Ops& ops, Op op, const Tensor& x, const IndexPlan& plan, const Tensor& view, const Tensor& value) {
  const Gather gather = prepare_gather(ops, view, plan);
  const Shape rows_shape = gathered_shape(gather);
  const std::vector<int64_t> placed = placed_order(gather, rows_shape.rank());
  Shape shown;
  for (int64_t axis : placed) shown.push_back(rows_shape[static_cast<int>(axis)]);
  Tensor rows = permute(ops, fit(ops, value, shown), inverse_order(placed));
  const Tensor written = ops.call(op, {gather.base, gather.index, rows}, {.batch = 0});
  const Tensor apart = reshape(ops, written, gather.ordered);
  return put_view(ops, x, plan, permute(ops, apart, inverse_order(gather.order)));
}

Tensor shaped_mask(Ops& ops, const IndexPlan& plan, int rank) {
  Tensor mask = plan.mask;
  for (int axis = plan.mask_axis + mask.rank(); axis < rank; ++axis) mask = insert_axis(ops, mask, mask.rank());
  return mask;
}

bool is_single_number(const Value& v) { return is_host_number(v) || (v.is(Tag::tensor) && v.tensor().rank() == 0); }

/// Computes the element's offset in the storage; fails unless every item is a plain int.
bool element_offset(const TensorData& x, std::span<const IndexItem> items, int64_t& offset) {
  const Layout& layout = x.layout;
  if (static_cast<int>(items.size()) != layout.rank()) return false;
  offset = layout.offset.hint();
  for (size_t axis = 0; axis < items.size(); ++axis) {
    const IndexItem& item = items[axis];
    if (item.kind != IndexItem::Kind::value || !item.value.is(Tag::integer)) return false;
    const int64_t extent = layout.shape[static_cast<int>(axis)].hint();
    const int64_t i = item.value.integer() < 0 ? item.value.integer() + extent : item.value.integer();
    if (i < 0 || i >= extent) return false;  // the general path reports the error
    offset += i * layout.strides[static_cast<int>(axis)].hint();
  }
  return true;
}

bool set_in_place(Context& context, const Value& x, const IndexPlan& plan, const Value& value) {
  if (!plan.picks.empty() || plan.mask || !may_write_elements(context, x)) return false;
  TensorData& data = *x.tensor_data();
  Layout view = plan.view;
  view.offset = view.offset + data.layout.offset;
  if (value.is_number() || value.is(Tag::boolean)) {
    const Scalar number = scalar_of(value);
    expect_fits(data.dtype, number);
    write_elements(data, view, number);
    return true;
  }
  const Tensor source = fit(context.ops(), value_tensor(context, value, data.dtype), view.shape);
  if (source.deferred() || !source.device().is_host()) return false;
  write_elements(data, view, source);
  return true;
}

/// Returns x with the plan's elements replaced, using ops.
Tensor set_copy(Context& context, const Tensor& x, IndexPlan& plan, const Value& value) {
  Ops& ops = context.ops();
  const Tensor source = value_tensor(context, value, x.dtype());
  if (plan.mask && is_single_number(value)) {
    // A mask with a single value needs no read of how many elements are selected.
    const Tensor view = apply_views(ops, x, plan);
    return put_view(ops, x, plan, ops.call(Op::where, {shaped_mask(ops, plan, view.rank()), source, view}));
  }
  if (plan.mask) resolve_mask(context, plan);
  if (!plan.picks.empty()) return scatter_back(ops, Op::scatter, x, plan, apply_views(ops, x, plan), source);
  const Tensor fitted = fit(ops, source, plan.view.shape);
  return plan.views.empty() ? ops.call(Op::copy, {fitted}) : put_view(ops, x, plan, fitted);
}

/// x with a value added, or subtracted, at an index, as often as it occurs. Where the sum is of another dtype than x,
/// it is converted once, when all is added.
Tensor add_at(Context& context, const Tensor& x, std::span<const IndexItem> items, const IndexPlan& plan,
              const Value& value, bool subtracts) {
  Ops& ops = context.ops();
  const Operand operand =
      is_host_number(value) ? operand_of(value) : Operand(to_tensor(context, value, "the added value"));
  const std::array<Operand, 2> summands = {x, operand};
  const DType dtype = promote_operands(summands, &ops);
  Tensor source = value_tensor(context, value, dtype);
  if (subtracts) source = ops.call(Op::neg, {source});
  if (dtype == x.dtype()) return scatter_back(ops, Op::scatter_add, x, plan, apply_views(ops, x, plan), source);
  const Tensor nothing = fill(ops, x.shape(), dtype, Scalar::of(int64_t{0}));
  const Tensor added = scatter_back(ops, Op::scatter_add, nothing, plan, apply_views(ops, nothing, plan), source);
  const Tensor sums =
      ops.call(Op::add, {tensor_get(context, x, items).tensor(), tensor_get(context, added, items).tensor()});
  return scatter_back(ops, Op::scatter, x, plan, apply_views(ops, x, plan), cast(ops, sums, x.dtype()));
}

}  // namespace

Value tensor_get(Context& context, const Tensor& x, std::span<const IndexItem> items) {
  const Placement placement(context.ops(), x.device());
  const IndexPlan plan = plan_index(context, x, items, true);
  const Tensor view = apply_views(context.ops(), x, plan);
  if (plan.picks.empty()) return view;
  return run_gather(context.ops(), prepare_gather(context.ops(), view, plan));
}

void tensor_set(Context& context, Value& object, std::span<const IndexItem> items, const Value& value) {
  int64_t offset = 0;
  if ((value.is_number() || value.is(Tag::boolean)) && element_offset(*object.tensor_data(), items, offset) &&
      may_write_elements(context, object)) {
    const Scalar number = scalar_of(value);
    expect_fits(object.tensor_data()->dtype, number);
    write_element(*object.tensor_data(), offset, number);
    return;
  }
  const Placement placement(context.ops(), object.tensor_data()->device);
  IndexPlan plan = plan_index(context, object.tensor(), items, false);
  if (!set_in_place(context, object, plan, value)) object = Value(set_copy(context, object.tensor(), plan, value));
}

void tensor_update(Context& context, Value& object, std::span<const IndexItem> items, ast::BinaryOp op,
                   const Value& value) {
  Ops& ops = context.ops();
  const Placement placement(ops, object.tensor_data()->device);
  const IndexPlan plan = plan_index(context, object.tensor(), items, false);
  const bool adds = op == ast::BinaryOp::add || op == ast::BinaryOp::sub;
  if (plan.mask && is_single_number(value)) {
    const Tensor x = object.tensor();
    const Tensor view = apply_views(ops, x, plan);
    const Tensor changed = cast(ops, binary(context, op, view, value).tensor(), x.dtype());
    object = Value(put_view(ops, x, plan, ops.call(Op::where, {shaped_mask(ops, plan, view.rank()), changed, view})));
  } else if (adds && !plan.mask && !plan.picks.empty()) {
    object = Value(add_at(context, object.tensor(), items, plan, value, op == ast::BinaryOp::sub));
  } else {
    const Value changed = binary(context, op, tensor_get(context, object.tensor(), items), value);
    tensor_set(context, object, items, changed);
  }
}

}  // namespace tsl
