// Defines ops that combine and split tensors.
#include "base/error_names.h"
#include "tensor/promotion.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

// concat
// --------------------------------------------------------------------------------------------------------

Tensor prepare_concat(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  if (operands.empty()) fail(ErrorName::empty_input, "concat: nothing to put together");
  if (Tensor result = prepare_axis(ops, op, operands, attrs)) return result;
  if (operands.size() == 1) return operands[0].tensor;
  const DType dtype = promote_operands(operands);
  const auto is_in_form = [dtype](const Operand& x) { return x.tensor.dtype() == dtype; };
  if (std::all_of(operands.begin(), operands.end(), is_in_form)) return {};
  std::vector<Operand> formed;
  for (const Operand& operand : operands) formed.emplace_back(cast(ops, operand.tensor, dtype));
  return ops.call(op, formed, attrs);
}

/// Says along which axis tensors fit one after another, or what they need for it.
std::vector<std::string> hints_for_parts(Operands operands) {
  const Shape& first = operands[0].tensor.shape();
  unsigned differing = 0;
  for (const Operand& operand : operands) {
    const Shape& other = operand.tensor.shape();
    if (other.rank() != first.rank()) return {"the tensors need one rank: `unsqueeze(x, axis)` adds an axis"};
    for (int i = 0; i < first.rank(); ++i) differing |= first[i] == other[i] ? 0u : 1u << i;
  }
  for (int i = 0; i < first.rank(); ++i) {
    if (differing == 1u << i) return {fmt::format("they fit along `axis: {}`", i)};
  }
  return {"all extents but that of one axis must be equal"};
}

TensorType infer_concat(Operands operands, const Attrs& attrs) {
  const Tensor& first = operands[0].tensor;
  const int axis = static_cast<int>(attrs.axis);
  Shape shape = first.shape();
  for (const Operand& operand : operands.subspan(1)) {
    const Shape& other = operand.tensor.shape();
    bool fits = other.rank() == shape.rank();
    for (int i = 0; fits && i < shape.rank(); ++i) fits = i == axis || shape[i] == other[i];
    if (!fits) {
      fail_with(ErrorName::shape_mismatch,
                fmt::format("concat: {} and {} differ beside axis {}", describe(first), describe(operand), axis),
                hints_for_parts(operands));
    }
    shape[axis] = sum_of_extents("concat", shape[axis], other[axis]);
  }
  return {first.dtype(), shape};
}

void vjp_concat(VjpCall& call) {
  const int axis = static_cast<int>(call.attrs.axis);
  Dim start = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Dim extent = call.inputs[i].tensor.shape()[axis];
    if (call.needed[i]) call.grads[i] = slice(call.ops, call.grad, axis, start, extent);
    start = start + extent;
  }
}

// assign_view
// ---------------------------------------------------------------------------------------------------

/// Replaces symbols of a trace that has ended by their numbers: no tensor refers to them any more.
Shape without_dead_symbols(Shape shape) {
  for (Dim& extent : shape) {
    if (extent.symbol() && extent.symbol()->table->is_closed()) extent = extent.hint();
  }
  return shape;
}

Tensor prepare_assign_view(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  const Operand& value = operands[1];
  if (value.is_tensor() && !try_broadcast(value.tensor.shape(), attrs.view.shape)) {
    fail(ErrorName::shape_mismatch, "cannot assign {} to a part of {} of shape {}", describe(value), describe(x),
         to_string(attrs.view.shape));
  }
  const Tensor conformed = conform(ops, value, x.dtype(), without_dead_symbols(attrs.view.shape));
  if (conformed == value.tensor) return {};
  return ops.call(op, {x, conformed}, attrs);
}

TensorType infer_assign_view(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  as_strided(Layout::contiguous(x.shape()), attrs.view);  // throws if the view leaves x
  return {x.dtype(), x.shape()};
}

void vjp_assign_view(VjpCall& call) {
  Attrs view;
  view.view = call.attrs.view;
  if (call.needed[0]) {
    const Tensor nothing = zeros(call.ops, call.attrs.view.shape, call.grad.dtype());
    call.grads[0] = call.ops.call(Op::assign_view, {call.grad, nothing}, view);
  }
  if (call.needed[1]) call.grads[1] = call.ops.call(Op::as_strided, {call.grad}, view);
}

// fold_windows
// --------------------------------------------------------------------------------------------------

TensorType infer_fold_windows(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  if (x.rank() < 2) fail(ErrorName::rank_too_low, "fold_windows: {} has no axis of windows", describe(x));
  const int axis = static_cast<int>(attrs.axis);
  const int64_t size = x.shape()[x.rank() - 1].pin();
  Shape shape = x.shape();
  shape.erase(x.rank() - 1);
  shape[axis] = attrs.count;
  const Layout unfolded = windows(Layout::contiguous(shape), axis, size, attrs.step, attrs.dilation);
  if (!(unfolded.shape == x.shape())) {
    fail(ErrorName::shape_mismatch, "fold_windows: {} are not the windows of {}, which are {}", describe(x),
         describe(x.dtype(), shape), to_string(unfolded.shape));
  }
  return {x.dtype(), shape};
}

void vjp_fold_windows(VjpCall& call) {
  const Tensor& x = call.inputs[0].tensor;
  Attrs unfold;
  unfold.axis = call.attrs.axis;
  unfold.size = x.shape()[x.rank() - 1].pin();
  unfold.step = call.attrs.step;
  unfold.dilation = call.attrs.dilation;
  call.grads[0] = call.ops.call(Op::windows, {call.grad}, unfold);
}

// to_device
// -----------------------------------------------------------------------------------------------------

Tensor prepare_to_device(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  if (x.layout().is_contiguous()) return {};
  return ops.call(op, {copy(ops, x)}, attrs);  // so that gaps are not sent
}

void vjp_to_device(VjpCall& call) { call.grads[0] = to_device(call.ops, call.grad, call.inputs[0].tensor.device()); }

}  // namespace

void add_structure(Table& table) {
  table.add({.op = Op::concat,
             .name = "concat",
             .signature = "concat(tensors, axis: 0)",
             .doc = "tensors one after another along an axis",
             .traits = {.fuses_as = FusesAs::nothing,
                        .writes_into = WritesInto::copies_of_operands,
                        .operands = OperandRule::tensors,
                        .axis = AxisUse::axis,
                        .needs = InputNeed::nothing,
                        .category = Category::copy,
                        .operations = 1.0,
                        .failure = nullptr,
                        .ordering = Ordering::free},
             .arity = -1,
             .prepare = prepare_concat,
             .infer = infer_concat,
             .vjp = vjp_concat});
  table.add({.op = Op::assign_view,
             .name = "assign_view",
             .signature = "",
             .doc = "x with a part of it replaced",
             .traits = {.fuses_as = FusesAs::nothing,
                        .writes_into = WritesInto::copies_of_operands,
                        .operands = OperandRule::value_last,
                        .axis = AxisUse::none,
                        .needs = InputNeed::nothing,
                        .category = Category::copy,
                        .operations = 1.0,
                        .failure = nullptr,
                        .ordering = Ordering::free},
             .arity = 2,
             .prepare = prepare_assign_view,
             .infer = infer_assign_view,
             .vjp = vjp_assign_view,
             .batch = batch_strided});
  table.add({.op = Op::fold_windows,
             .name = "fold_windows",
             .signature = "",
             .doc = "the sums of overlapping windows: the adjoint of windows",
             .traits = unfused_traits(Category::reduction, AxisUse::axis, 1.0),
             .arity = 1,
             .prepare = prepare_axis,
             .infer = infer_fold_windows,
             .vjp = vjp_fold_windows});
  table.add({.op = Op::result,
             .name = "result",
             .signature = "",
             .doc = "a result of an op that has several",
             .traits = unfused_traits(Category::copy, AxisUse::none, 0.0),
             .arity = 1,
             .infer = infer_like_first});
  table.add({.op = Op::to_device,
             .name = "to_device",
             .signature = "to(x, device)",
             .doc = "the same elements on another device",
             .traits = unfused_traits(Category::copy, AxisUse::none, 1.0),
             .arity = 1,
             .prepare = prepare_to_device,
             .infer = infer_like_first,
             .vjp = vjp_to_device,
             .batch = batch_leading});
}

}  // namespace tsl::rows
