// Defines ops along one axis: running sums and products, and sorting.
#include "base/error_names.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

TensorType infer_cumulative(Operands operands, const Attrs&) {
  const Tensor& x = operands[0].tensor;
  return {total_of(x.dtype()), x.shape()};
}

TensorType infer_sorted(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  Shape shape = x.shape();
  Dim& extent = shape[static_cast<int>(attrs.axis)];
  if (attrs.count.hint() < 0 || attrs.count.hint() > extent.hint()) {
    fail(ErrorName::argument_out_of_range, "sort: count is {}, but axis {} has {} elements", attrs.count.hint(),
         attrs.axis, extent.hint());
  }
  extent = attrs.count;
  return {x.dtype(), shape};
}

TensorType infer_order(Operands operands, const Attrs& attrs, int) {
  return {DType::i64, infer_sorted(operands, attrs).shape};
}

/// Adds each value's gradient to the element that the order names.
void vjp_sort(VjpCall& call) {
  const Tensor& x = call.inputs[0].tensor;
  const int axis = static_cast<int>(call.attrs.axis), last = x.rank() - 1;
  const auto along_last = [&](const Tensor& t) { return move_axis(call.ops, t, axis, last); };
  const Tensor at_origin = call.ops.call(
      Op::scatter_add,
      {along_last(zeros(call.ops, x.shape(), x.dtype())), along_last(call.results[1]), along_last(call.grad)},
      {.from_start = true, .batch = last});
  call.grads[0] = move_axis(call.ops, at_origin, last, axis);
}

Tensor cumulate(VjpCall& call, Op op, const Tensor& x) { return call.ops.call(op, {x}, {.axis = call.attrs.axis}); }

// Returns the sums from each element to the end.
Tensor sum_to_end(VjpCall& call, const Tensor& x) {
  const int64_t axis = call.attrs.axis;
  return flip(call.ops, cumulate(call, Op::cumsum, flip(call.ops, x, axis)), axis);
}

void vjp_cumsum(VjpCall& call) { call.grads[0] = sum_to_end(call, call.grad); }

Tensor concat(VjpCall& call, const Tensor& a, const Tensor& b) {
  return call.ops.call(Op::concat, {a, b}, {.axis = call.attrs.axis});
}

/// s[i] + factor[i] * s[i + 1] for all s, from the end: in log2(n) steps, each of which doubles the reach.
Tensor recur_to_end(VjpCall& call, Tensor s, Tensor factor) {
  const int64_t axis = call.attrs.axis;
  const Dim extent = s.shape()[static_cast<int>(axis)];
  for (int64_t reach = 1; Dim(reach) < extent; reach *= 2) {
    const auto front = [&](const Tensor& x) { return slice(call.ops, x, axis, 0, extent - reach); };
    const auto behind = [&](const Tensor& x) { return slice(call.ops, x, axis, reach, extent - reach); };
    const auto joined = [&](const diff::Var& changed, const Tensor& x) {
      return concat(call, changed.tensor(), slice(call.ops, x, axis, extent - reach, reach));
    };
    const diff::Var step = var(call, front(factor));
    s = joined(var(call, front(s)) + step * var(call, behind(s)), s);
    factor = joined(step * var(call, behind(factor)), factor);
  }
  return s;
}

/// Element i reaches output k >= i by the product of the other elements up to k: of those before i, and of those from
/// i + 1 to k. Without a quotient, so that the rule holds at zeros and for its own derivatives.
void vjp_cumprod(VjpCall& call) {
  const Tensor& x = call.inputs[0].tensor;
  const int64_t axis = call.attrs.axis;
  const Dim extent = x.shape()[static_cast<int>(axis)];
  if (extent < 2) {
    call.grads[0] = call.grad;
    return;
  }
  Shape one = x.shape();
  one[static_cast<int>(axis)] = 1;
  const Tensor ones = fill(call.ops, one, x.dtype(), Scalar::of(1.0));
  const Tensor before = concat(call, ones, slice(call.ops, cumulate(call, Op::cumprod, x), axis, 0, extent - 1));
  const Tensor next = concat(call, slice(call.ops, x, axis, 1, extent - 1), ones);
  call.grads[0] = (var(call, before) * var(call, recur_to_end(call, call.grad, next))).tensor();
}

}  // namespace

void add_scans(Table& table) {
  table.add({.op = Op::cumsum,
             .name = "cumsum",
             .signature = "cumsum(x, axis: -1)",
             .doc = "the running sum along an axis",
             .traits = unfused_traits(Category::scan, AxisUse::axis, 16.0, FlopsOf::scan),
             .arity = 1,
             .prepare = prepare_axis,
             .infer = infer_cumulative,
             .vjp = vjp_cumsum});
  table.add({.op = Op::cumprod,
             .name = "cumprod",
             .signature = "cumprod(x, axis: -1)",
             .doc = "the running product along an axis",
             .traits = unfused_traits(Category::scan, AxisUse::axis, 16.0, FlopsOf::scan),
             .arity = 1,
             .prepare = prepare_axis,
             .infer = infer_cumulative,
             .vjp = vjp_cumprod});
  table.add(
      {.op = Op::sort,
       .name = "sort",
       .signature = "sort(x, count, axis, descending: false)",
       .doc = "the first `count` elements of x in order along an axis, and their indices; equals keep their order",
       .traits = unfused_traits(Category::sort, AxisUse::axis, std::nullopt),
       .arity = 1,
       .infer = infer_sorted,
       .results = 2,
       .infer_other = infer_order,
       .vjp = vjp_sort});
}

}  // namespace tsl::rows
