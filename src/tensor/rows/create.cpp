// Defines the ops that make tensors from numbers.
#include "base/error_names.h"
#include "tensor/promotion.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

Shape checked_shape(const char* op, const Shape& shape) {
  for (Dim extent : shape) {
    if (extent < 0) fail(ErrorName::negative_size, "{}: sizes must not be negative, got {}", op, to_string(shape));
  }
  return shape;
}

Tensor prepare_fill(Ops&, Op, Operands operands, const Attrs& attrs) {
  expect_fits(attrs.dtype, operands[0]);
  return {};
}

Dim size_of_number(const Operand& number) {
  const bool is_live = number.symbol && !number.symbol->table->is_closed();
  return is_live ? Dim(number.symbol) : Dim(number.scalar.integer);
}

/// Checks the ends of whole numbers; between them nothing is larger.
Tensor prepare_iota(Ops&, Op, Operands operands, const Attrs& attrs) {
  const bool is_whole =
      operands[0].scalar.type == ScalarType::integer && operands[1].scalar.type == ScalarType::integer;
  if (!is_integer(attrs.dtype) || attrs.dtype == DType::i64 || !is_whole) return {};
  if (!(Dim(0) < attrs.count)) return {};
  expect_fits(attrs.dtype, operands[0]);
  const Dim last = size_of_number(operands[0]) + (attrs.count - 1) * size_of_number(operands[1]);
  expect_fits(attrs.dtype, Operand(Scalar::of(last.hint()), last.symbol()));
  return {};
}

TensorType infer_fill(Operands, const Attrs& attrs) { return {attrs.dtype, checked_shape("fill", attrs.shape)}; }

TensorType infer_iota(Operands, const Attrs& attrs) {
  if (attrs.dtype == DType::boolean) fail(ErrorName::wrong_dtype, "iota: numbers cannot be bool");
  return {attrs.dtype, checked_shape("iota", {attrs.count})};
}

void check_stream(const char* op, Operands operands) {
  for (const Operand& operand : operands) {
    if (operand.scalar.type == ScalarType::integer) continue;
    fail(ErrorName::wrong_dtype, "{}: key and counter must be ints, got {}", op, describe(operand));
  }
}

TensorType infer_random_bits(Operands operands, const Attrs& attrs) {
  check_stream("random_bits", operands);
  return {DType::i64, checked_shape("random_bits", attrs.shape)};
}

TensorType infer_random_float(Operands operands, const Attrs& attrs) {
  check_stream("random", operands);
  if (!is_float(attrs.dtype))
    fail(ErrorName::wrong_dtype, "random numbers need a float dtype, not {}", name_of(attrs.dtype));
  return {attrs.dtype, checked_shape("random", attrs.shape)};
}

constexpr OpTraits source_traits(Category category, double cost, MapsBy maps = MapsBy::axis) {
  return {.fuses_as = FusesAs::source,
          .writes_into = WritesInto::fresh,
          .operands = OperandRule::numbers,
          .axis = AxisUse::none,
          .needs = InputNeed::nothing,
          .category = category,
          .operations = cost,
          .failure = nullptr,
          .ordering = Ordering::free,
          .maps = maps};
}

}  // namespace

void add_sources(Table& table) {
  table.add({.op = Op::fill,
             .name = "fill",
             .signature = "full(shape, value, dtype: f32)",
             .doc = "a tensor with the same number everywhere",
             .traits = source_traits(Category::pointwise, 0),
             .arity = 1,
             .prepare = prepare_fill,
             .infer = infer_fill});
  table.add({.op = Op::iota,
             .name = "iota",
             .signature = "arange(start, stop, step: 1, dtype: i64)",
             .doc = "start, start + step, start + 2 * step, and so on",
             .traits = source_traits(Category::pointwise, 1),
             .arity = 2,
             .prepare = prepare_iota,
             .infer = infer_iota});
  table.add({.op = Op::random_bits,
             .name = "random_bits",
             .signature = "",
             .doc = "Philox words, uniform over [0, 2^32)",
             .traits = source_traits(Category::random, 16, MapsBy::drawing),
             .arity = 2,
             .infer = infer_random_bits});
  table.add({.op = Op::random_uniform,
             .name = "random_uniform",
             .signature = "rand(shape, dtype: f32)",
             .doc = "numbers uniform over [0, 1)",
             .traits = source_traits(Category::random, 16, MapsBy::drawing),
             .arity = 2,
             .infer = infer_random_float});
  table.add({.op = Op::random_normal,
             .name = "random_normal",
             .signature = "randn(shape, dtype: f32)",
             .doc = "normally distributed numbers of mean 0 and variance 1",
             .traits = source_traits(Category::random, 40, MapsBy::drawing),
             .arity = 2,
             .infer = infer_random_float});
}

}  // namespace tsl::rows
