// Defines convolutions and attention.
#include <memory>

#include "base/error_names.h"
#include "builtins/builtins.h"
#include "tensor/op.h"
#include "tensor/rows/attention.h"
#include "tensor/rows/convolution.h"
#include "value/context.h"
#include "value/numbers.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

// ---- Convolutions --------------------------------------------------------------------------------------------------

/// Reads an int for each axis of space, or one for all.
Ints expect_per_axis(Context& context, const Value& v, int axes, const char* function, const char* parameter) {
  Ints all;
  const auto items = sequence_items(context, v);
  if (!items) {
    const int64_t one = expect_int(context, v, parameter);
    for (int i = 0; i < axes; ++i) all.push_back(one);
    return all;
  }
  if (items->size() != static_cast<size_t>(axes)) {
    fail_argument(ErrorName::rank_mismatch, parameter,
                  fmt::format("{}: {} has {} ints for {} axes of space", function, parameter, items->size(), axes));
  }
  for (const Value& item : *items) all.push_back(expect_int(context, item, parameter));  // bounded: one an axis
  return all;
}

/// Reads what lies around each axis: an int, or a pair (before, after).
void expect_padding(Context& context, const Value& v, const char* function, ConvGeometry& geometry) {
  const int axes = geometry.rank();
  const auto items = sequence_items(context, v);
  const bool has_pairs = items && !items->empty() && sequence_items(context, items->front());
  if (!has_pairs) {
    geometry.low = geometry.high = expect_per_axis(context, v, axes, function, "padding");
    return;
  }
  if (items->size() != static_cast<size_t>(axes)) {
    fail_argument(ErrorName::rank_mismatch, "padding",
                  fmt::format("{}: padding has {} pairs for {} axes of space", function, items->size(), axes));
  }
  for (const Value& item : *items) {  // bounded: one an axis
    const Ints pair = expect_per_axis(context, item, 2, function, "padding");
    geometry.low.push_back(pair[0]);
    geometry.high.push_back(pair[1]);
  }
}

constexpr int64_t kMostPadding = int64_t{1} << 40;  // beyond any memory, and sums of it do not wrap around

/// Reads stride, padding, dilation and groups, from `args[first]` on.
Ref<const ConvGeometry> expect_geometry(Context& context, Args args, size_t first, int rank, const char* function) {
  const int axes = rank - kBeforeSpace;
  if (axes < 1 || axes > 3) {
    fail_argument(ErrorName::rank_mismatch, "x",
                  fmt::format("{}: x must have 3 to 5 dimensions, [n, channels, space...], not {}", function, rank));
  }
  auto geometry = std::make_unique<ConvGeometry>();
  geometry->stride = expect_per_axis(context, args[first], axes, function, "stride");
  geometry->dilation = expect_per_axis(context, args[first + 2], axes, function, "dilation");
  expect_padding(context, args[first + 1], function, *geometry);
  geometry->groups = expect_int(context, args[first + 3], "groups");
  for (const Ints* padding : {&geometry->low, &geometry->high}) {
    for (const int64_t width : *padding) {  // bounded: one an axis
      if (width < 0 || width > kMostPadding) {
        fail_argument(ErrorName::argument_out_of_range, "padding",
                      fmt::format("{}: no padding is of {} elements", function, width));
      }
    }
  }
  return geometry.release();
}

Value conv_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "conv"), weights = to_tensor(context, args[1], "conv");
  return context.ops().call(Op::conv, {x, weights}, {.conv = expect_geometry(context, args, 2, x.rank(), "conv")});
}

/// Computes the gradient of an input that has this shape. What windows of the last stride leave over, or lack, is taken
/// from the padding after it.
Value conv_transpose_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "conv_transpose"),
               weights = to_tensor(context, args[1], "conv_transpose");
  const Shape shape = expect_shape(context, args[2], "conv_transpose's shape");
  ConvGeometry geometry = *expect_geometry(context, args, 3, x.rank(), "conv_transpose");
  if (shape.rank() != geometry.rank() || weights.rank() != x.rank()) {
    fail_argument(ErrorName::rank_mismatch, shape.rank() != geometry.rank() ? "shape" : "weight",
                  fmt::format("conv_transpose: x has {} axes of space, shape {}, and weight {}", geometry.rank(),
                              shape.rank(), weights.rank() - kBeforeSpace));
  }
  for (int i = 0; i < geometry.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const auto reach_of = [&](const Tensor& of, int64_t step) {
      return product_of_extents("conv_transpose", of.shape()[kBeforeSpace + i] - 1, step);
    };
    const Dim reach = sum_of_extents("conv_transpose", reach_of(weights, geometry.dilation[at]), 1 - geometry.low[at]);
    const Dim whole = sum_of_extents("conv_transpose", reach_of(x, geometry.stride[at]), reach);
    geometry.high[at] = sum_of_extents("conv_transpose", whole, Dim(0) - shape[i]).pin();
  }
  const Attrs attrs{.shape = shape, .conv = make_ref<const ConvGeometry>(geometry)};
  return context.ops().call(Op::conv_input_grad, {x, weights}, attrs);
}

// ---- Attention -----------------------------------------------------------------------------------------------------

int64_t expect_window(Context& context, const Value& window) {
  return window.is_nil() ? 0 : expect_int(context, window, "window_size");
}

std::optional<Operand> optional_number(const Value& number) {
  if (number.is_nil()) return {};
  return number.is(Tag::tensor) ? Operand(number.tensor()) : operand_of(number);
}

Value attention_builtin(Context& context, Args args) {
  AttentionCall call{args[0].tensor(), args[1].tensor(), args[2].tensor()};
  if (!args[3].is_nil()) call.mask = args[3].tensor();
  call.is_causal = expect_bool(context, args[4], "is_causal");
  call.scale = optional_number(args[5]);
  call.window = expect_window(context, args[6]);
  call.softcap = optional_number(args[7]);
  call.is_grouped = expect_bool(context, args[8], "is_grouped");
  return call_attention(context.ops(), call);
}

Value flash_attention_builtin(Context& context, Args args) {
  Attrs attrs{.causal = expect_bool(context, args[3], "is_causal")};
  if (!args[4].is_nil()) attrs.scale = scale_attribute(expect_real(context, args[4], "scale"));
  attrs.size = expect_window(context, args[5]);
  if (!args[6].is_nil()) {
    attrs.softcap = expect_real(context, args[6], "softcap");
    if (!(attrs.softcap > 0))
      fail(ErrorName::argument_out_of_range, "flash_attention: softcap must be above 0, not {}", attrs.softcap);
  }
  const Tensor query = expect_tensor(context, args[0], "query"), key = expect_tensor(context, args[1], "key"),
               value = expect_tensor(context, args[2], "value");
  const KernelScope scope(context.ops());
  if (args[7].is_nil()) return context.ops().call(Op::attention, {query, key, value}, attrs);
  Shape scores = query.shape();
  if (scores.rank() >= 2 && key.rank() >= 2) scores[scores.rank() - 1] = key.shape()[key.rank() - 2];
  const Tensor mask = expand(context.ops(), expect_tensor(context, args[7], "attn_mask"), scores);
  if (mask.dtype() != DType::boolean)
    fail(ErrorName::wrong_dtype, "attention: the mask must be bool, not {}", describe(mask));
  return context.ops().call(Op::attention, {query, key, value, mask}, attrs);
}

constexpr Builtin kNeuralRows[] = {
    {"_attention",
     "_attention(query: tensor, key: tensor, value: tensor, attn_mask: tensor | nil, is_causal: bool, "
     "scale: number | [] | nil, window_size: integer | nil, softcap: number | [] | nil, is_grouped: bool)",
     "attention() of arguments that fit, for the library", attention_builtin, "linear algebra"},
    {"conv",
     "conv(x: tensor, weight: tensor, stride: integers in 1.. = 1, padding: integers | list | tuple = 0, "
     "dilation: integers in 1.. = 1, groups: integer in 1.. = 1)",
     "x [n, channels, ...] convolved with weight [out, channels / groups, ...], over one to three axes; padding is a "
     "width, one for each axis, or pairs (before, after)",
     conv_builtin, "linear algebra"},
    {"conv_transpose",
     "conv_transpose(x: tensor, weight: tensor, shape: integers, stride: integers in 1.. = 1, "
     "padding: integers | list | tuple = 0, dilation: integers in 1.. = 1, groups: integer in 1.. = 1)",
     "the transpose of conv(), from its results x [n, channels, ...] to inputs of this shape of space; weight is "
     "[channels, out / groups, ...]",
     conv_transpose_builtin, "linear algebra"},
    {"flash_attention",
     "flash_attention(query: tensor, key: tensor, value: tensor, is_causal: bool = false, scale: number | nil = nil, "
     "window_size: integer | nil in 1.. = nil, softcap: number | nil = nil, attn_mask: tensor | nil = nil)",
     "attention(query, key, value) of [batch…, heads, rows, columns], whose scores are never in memory; key and value "
     "may "
     "have fewer heads, each for as many of query; attn_mask is bool, best with few rows: its gradients keep scores",
     flash_attention_builtin, "linear algebra"},
};

}  // namespace

std::span<const Builtin> neural_builtins() { return kNeuralRows; }

}  // namespace tsl
