// Defines convolutions and their derivatives, each of which is one of the three.
#include <algorithm>

#include "base/error_names.h"
#include "tensor/limits.h"
#include "tensor/rows/convolution.h"
#include "tensor/rows/op_rows.h"

namespace tsl {

std::vector<int64_t> ConvGeometry::numbers() const {
  std::vector<int64_t> all = {groups};
  for (const Ints* part : {&stride, &dilation, &low, &high}) all.insert(all.end(), part->begin(), part->end());
  return all;
}

Ref<const ConvGeometry> ConvGeometry::of(std::span<const int64_t> numbers) {
  if (numbers.empty() || numbers.size() % 4 != 1) return {};
  auto geometry = std::make_unique<ConvGeometry>();
  const size_t rank = numbers.size() / 4;
  geometry->groups = numbers[0];
  Ints* const parts[] = {&geometry->stride, &geometry->dilation, &geometry->low, &geometry->high};
  for (size_t i = 0; i < 4; ++i) *parts[i] = Ints(numbers.subspan(1 + i * rank, rank));
  return geometry.release();
}

ConvGeometry ConvGeometry::clamped(const Shape& x) const {
  ConvGeometry result = *this;
  const int before = x.rank() - rank();
  for (int i = 0; i < rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t most = std::max<int64_t>(x[before + i].hint() + low[at] + high[at], 1);
    result.stride[at] = std::min(stride[at], most);
    result.dilation[at] = std::min(dilation[at], most);
  }
  return result;
}

namespace {

/// Returns the extents of space, or of taps, in this run.
ConvAxes extents_of(const Shape& shape) {
  Ints space;
  for (int i = kBeforeSpace; i < shape.rank(); ++i) space.push_back(shape[i].hint());
  return conv_axes(space, 1);
}

}  // namespace

ConvAxes conv_axes(const Ints& values, int64_t missing) {
  ConvAxes axes;
  axes.fill(missing);
  std::copy(values.begin(), values.end(), axes.end() - static_cast<ptrdiff_t>(values.size()));
  return axes;
}

ConvForm::ConvForm(Op op, const Shape& first, const Shape& second, const Shape& result, const ConvGeometry& geometry) {
  const Shape &x = op == Op::conv_input_grad ? result : first, &w = op == Op::conv_weight_grad ? result : second;
  const Shape& y = op == Op::conv ? result : op == Op::conv_input_grad ? first : second;
  const ConvGeometry clamped = geometry.clamped(x);
  batch = x[0].hint();
  groups = geometry.groups;
  in_channels = x[1].hint() / groups;
  out_channels = w[0].hint() / groups;
  rank = geometry.rank();
  in = extents_of(x), out = extents_of(y), taps = extents_of(w);
  stride = conv_axes(clamped.stride, 1), dilation = conv_axes(clamped.dilation, 1), low = conv_axes(clamped.low, 0);
}

namespace rows {

namespace {

/// Returns the extents of space, or of taps.
Shape space_of(const Tensor& x) {
  return Shape(std::span<const Dim>(x.shape().begin() + kBeforeSpace, static_cast<size_t>(x.rank() - kBeforeSpace)));
}

Shape with_space(Dim first, Dim second, const Shape& space) {
  Shape shape = {first, second};
  for (const Dim& extent : space) shape.push_back(extent);
  return shape;
}

const ConvGeometry& geometry_of(const OpDef& op, const Attrs& attrs) {
  const bool is_whole = attrs.conv && attrs.conv->rank() >= 1 && attrs.conv->rank() <= kMostSpace &&
                        attrs.conv->groups >= 1 && attrs.conv->dilation.size() == attrs.conv->stride.size() &&
                        attrs.conv->low.size() == attrs.conv->stride.size() &&
                        attrs.conv->high.size() == attrs.conv->stride.size();
  if (!is_whole) fail(ErrorName::argument_out_of_range, "{}: the windows' geometry is not of 1 to 3 axes", op.name);
  return *attrs.conv;
}

/// Fails unless both operands have the axes that the geometry has.
void check_ranks(const OpDef& op, Operands operands, const ConvGeometry& geometry) {
  for (const Operand& operand : operands) {
    if (operand.tensor.rank() == kBeforeSpace + geometry.rank()) continue;
    fail(ErrorName::rank_mismatch, "{}: {} has not 2 axes before the {} of space", op.name, describe(operand.tensor),
         geometry.rank());
  }
}

/// Fails unless `groups` divide the channels; `outputs` is the first extent of the weights.
void check_channels(const OpDef& op, const Tensor& x, Dim channels, Dim outputs, Dim in_group, int64_t groups) {
  if (!(outputs / groups * groups == outputs))
    fail(ErrorName::shape_mismatch, "{}: {} groups do not divide {} channels", op.name, groups, outputs.hint());
  if (!(channels == product_of_extents(op.name, in_group, groups))) {
    fail(ErrorName::shape_mismatch, "{}: {} has {} channels, but the weights take {} in each of {} groups", op.name,
         describe(x), channels.hint(), in_group.hint(), groups);
  }
}

/// Returns an axis with its padding. No padding is wider than any memory, so that places in windows fit an int.
Dim padded_extent(const OpDef& op, Dim extent, int64_t low, int64_t high) {
  for (const int64_t width : {low, high}) {
    if (width <= kMaxTensorBytes && width >= -kMaxTensorBytes) continue;
    fail(ErrorName::argument_out_of_range, "{}: a padding of {} is beyond any memory", op.name, width);
  }
  return sum_of_extents(op.name, extent, low + high);
}

/// Returns the number of windows on each axis.
Shape windows_of(const OpDef& op, const Shape& space, const Shape& taps, const ConvGeometry& geometry) {
  Shape windows;
  for (int i = 0; i < geometry.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (geometry.stride[at] < 1 || geometry.dilation[at] < 1)
      fail(ErrorName::argument_out_of_range, "{}: stride and dilation must be positive", op.name);
    const Dim padded = padded_extent(op, space[i], geometry.low[at], geometry.high[at]);
    int64_t reach = 0;
    const int64_t taps_here = taps[i].pin();
    if (taps_here < 1 || __builtin_mul_overflow(taps_here - 1, geometry.dilation[at], &reach) ||
        !(Dim(reach) < padded)) {
      fail(ErrorName::window_too_long, "{}: a window of {} (dilation {}) is longer than axis {}, which has {}", op.name,
           taps_here, geometry.dilation[at], kBeforeSpace + i, padded.hint());
    }
    windows.push_back((padded - (reach + 1)) / geometry.stride[at] + 1);
  }
  return windows;
}

/// Fails unless a convolution of this space has these windows.
void check_windows(const OpDef& op, const Tensor& grad, const Shape& space, const Shape& taps,
                   const ConvGeometry& geometry) {
  const Shape windows = windows_of(op, space, taps, geometry);
  if (!(windows == space_of(grad))) {
    fail(ErrorName::shape_mismatch, "{}: {} does not hold the windows, which are {}", op.name, describe(grad),
         to_string(windows));
  }
}

/// Copies a tensor that has gaps or another order of axes. Libraries read none; as a node of a graph, the copy is
/// shared by a convolution and its derivatives, and part of the kernel that makes the tensor.
Tensor without_gaps(Ops& ops, const Tensor& x) {
  return without_symbols(x.layout()).is_contiguous() ? x : copy(ops, x);
}

Tensor prepare_conv(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor &a = operands[0].tensor, &b = operands[1].tensor;
  if (a.dtype() == DType::boolean && b.dtype() == DType::boolean) {
    fail(ErrorName::wrong_dtype, "{}: expected numbers, got {} and {}", op_def(op).name, describe(a), describe(b));
  }
  const DType dtype = promote(a.dtype(), b.dtype());
  const Tensor left = without_gaps(ops, cast(ops, a, dtype)), right = without_gaps(ops, cast(ops, b, dtype));
  if (left.get() == a.get() && right.get() == b.get()) return {};
  return ops.call(op, {left, right}, attrs);
}

TensorType infer_conv(Operands operands, const Attrs& attrs) {
  const OpDef& op = op_def(Op::conv);
  const ConvGeometry& geometry = geometry_of(op, attrs);
  check_ranks(op, operands, geometry);
  const Tensor &x = operands[0].tensor, &weights = operands[1].tensor;
  check_channels(op, x, x.shape()[1], weights.shape()[0], weights.shape()[1], geometry.groups);
  return {x.dtype(),
          with_space(x.shape()[0], weights.shape()[0], windows_of(op, space_of(x), space_of(weights), geometry))};
}

TensorType infer_input_grad(Operands operands, const Attrs& attrs) {
  const OpDef& op = op_def(Op::conv_input_grad);
  const ConvGeometry& geometry = geometry_of(op, attrs);
  check_ranks(op, operands, geometry);
  const Tensor &grad = operands[0].tensor, &weights = operands[1].tensor;
  const Dim channels = product_of_extents(op.name, weights.shape()[1], geometry.groups);
  check_channels(op, grad, channels, grad.shape()[1], weights.shape()[1], geometry.groups);
  if (!(grad.shape()[1] == weights.shape()[0])) {
    fail(ErrorName::shape_mismatch, "{}: {} has not the {} channels of the weights", op.name, describe(grad),
         weights.shape()[0].hint());
  }
  check_windows(op, grad, attrs.shape, space_of(weights), geometry);
  return {grad.dtype(), with_space(grad.shape()[0], channels, attrs.shape)};
}

TensorType infer_weight_grad(Operands operands, const Attrs& attrs) {
  const OpDef& op = op_def(Op::conv_weight_grad);
  const ConvGeometry& geometry = geometry_of(op, attrs);
  check_ranks(op, operands, geometry);
  const Tensor &x = operands[0].tensor, &grad = operands[1].tensor;
  const Dim in_group = x.shape()[1] / geometry.groups;
  check_channels(op, x, x.shape()[1], grad.shape()[1], in_group, geometry.groups);
  if (!(x.shape()[0] == grad.shape()[0])) {
    fail(ErrorName::shape_mismatch, "{}: the batches of {} and {} differ", op.name, describe(x), describe(grad));
  }
  check_windows(op, grad, space_of(x), attrs.shape, geometry);
  return {x.dtype(), with_space(grad.shape()[1], in_group, attrs.shape)};
}

// ---- Derivatives ---------------------------------------------------------------------------------------------------

Tensor convolve(VjpCall& call, const Tensor& x, const Tensor& weights) {
  return call.ops.call(Op::conv, {x, weights}, {.conv = call.attrs.conv});
}
Tensor input_grad(VjpCall& call, const Tensor& grad, const Tensor& weights, const Tensor& x) {
  return call.ops.call(Op::conv_input_grad, {grad, weights}, {.shape = space_of(x), .conv = call.attrs.conv});
}
Tensor weight_grad(VjpCall& call, const Tensor& x, const Tensor& grad, const Tensor& weights) {
  return call.ops.call(Op::conv_weight_grad, {x, grad}, {.shape = space_of(weights), .conv = call.attrs.conv});
}

void vjp_conv(VjpCall& call) {
  const Tensor &x = call.inputs[0].tensor, &weights = call.inputs[1].tensor;
  if (call.needed[0]) call.grads[0] = input_grad(call, call.grad, weights, x);
  if (call.needed[1]) call.grads[1] = weight_grad(call, x, call.grad, weights);
}

void vjp_input_grad(VjpCall& call) {
  const Tensor &grad = call.inputs[0].tensor, &weights = call.inputs[1].tensor;
  if (call.needed[0]) call.grads[0] = convolve(call, call.grad, weights);
  if (call.needed[1]) call.grads[1] = weight_grad(call, call.grad, grad, weights);
}

void vjp_weight_grad(VjpCall& call) {
  const Tensor &x = call.inputs[0].tensor, &grad = call.inputs[1].tensor;
  if (call.needed[0]) call.grads[0] = input_grad(call, grad, call.grad, x);
  if (call.needed[1]) call.grads[1] = convolve(call, x, call.grad);
}

// ---- Batches -------------------------------------------------------------------------------------------------------

bool is_of_batch(const BatchCall& call, size_t operand) { return call.inputs[operand].tensor->batch == call.batch; }

Tensor examples_of(const BatchCall& call, size_t operand) {
  return all_examples(call.ops, call.batch, call.inputs[operand].tensor);
}

/// Joins axis 0, the examples, with axis `axis` + 1 of the one after.
Tensor join_axes(Ops& ops, const Tensor& x, int axis) {
  const Tensor moved = move_axis(ops, x, 0, axis);
  Shape shape = moved.shape();
  shape[axis] = product_of_extents("vmap", shape[axis], shape[axis + 1]);
  shape.erase(axis + 1);
  return reshape(ops, moved, shape);
}

/// Splits an axis into examples, which become axis 0, and the rest.
Tensor split_axis(Ops& ops, const Tensor& x, int axis, Dim examples) {
  Shape shape = x.shape();
  shape[axis] = shape[axis] / examples;
  shape.insert(axis, examples);
  return move_axis(ops, reshape(ops, x, shape), axis, 0);
}

/// Calls the op with the examples as further groups of channels: axis 1 of x and of grad, axis 0 of weights.
Tensor as_groups(const BatchCall& call) {
  const Dim size = call.batch->size();
  auto geometry = std::make_unique<ConvGeometry>(*call.attrs.conv);
  geometry->groups = product_of_extents(call.op.name, geometry->groups, size.pin()).hint();
  Attrs attrs = call.attrs;
  attrs.conv = Ref<const ConvGeometry>(geometry.release());
  const int second = call.op.op == Op::conv_weight_grad ? 1 : 0, result = call.op.op == Op::conv_weight_grad ? 0 : 1;
  const Tensor a = join_axes(call.ops, examples_of(call, 0), 1), b = join_axes(call.ops, examples_of(call, 1), second);
  return split_axis(call.ops, call.ops.call(call.op.op, {a, b}, attrs), result, size);
}

/// Joins the examples with the batch where the weights are the same for all; else they are further groups.
Results batch_conv(const BatchCall& call) {
  const bool shares_weights = call.op.op != Op::conv_weight_grad && !is_of_batch(call, 1);
  const bool is_empty = call.batch->size() == Dim(0);
  if (!shares_weights && !is_empty) return {as_groups(call)};
  if (!shares_weights) {
    Shape shape = call.types[0].shape;
    shape.insert(0, 0);
    return {zeros(call.ops, shape, call.types[0].dtype)};
  }
  const Tensor joined = join_axes(call.ops, examples_of(call, 0), 0);
  const Tensor result = call.ops.call(call.op.op, {joined, call.inputs[1]}, call.attrs);
  Shape shape = call.types[0].shape;
  shape.insert(0, call.batch->size());
  return {reshape(call.ops, result, shape)};
}

OpDef conv_row(Op op, const char* name, const char* doc) {
  return {.op = op,
          .name = name,
          .doc = doc,
          .traits = unfused_traits(Category::convolution, AxisUse::none, 1.0, FlopsOf::convolution,
                                   Allocates::unless_of_floats),
          .arity = 2,
          .prepare = prepare_conv,
          .batch = batch_conv};
}

}  // namespace

void add_convolutions(Table& table) {
  OpDef conv = conv_row(Op::conv, "conv", "the sums of products of windows with weights");
  conv.signature = "conv(x, weight, stride: 1, padding: 0, dilation: 1, groups: 1)";
  conv.infer = infer_conv;
  conv.compose = compose_conv;
  conv.vjp = vjp_conv;
  table.add(conv);
  OpDef of_input = conv_row(Op::conv_input_grad, "conv_input_grad",
                            "the gradient of a convolution's input: windows times numbers, added up where they lie");
  of_input.infer = infer_input_grad;
  of_input.compose = compose_input_grad;
  of_input.vjp = vjp_input_grad;
  table.add(of_input);
  OpDef of_weights = conv_row(Op::conv_weight_grad, "conv_weight_grad", "the gradient of a convolution's weights");
  of_weights.infer = infer_weight_grad;
  of_weights.compose = compose_weight_grad;
  of_weights.vjp = vjp_weight_grad;
  table.add(of_weights);
}

}  // namespace rows

}  // namespace tsl
