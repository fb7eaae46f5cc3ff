// Numbers as Values: bools, ints, floats, symbols of such numbers during a trace, and complex ones (is_complex()).
#pragma once

#include <optional>
#include <string_view>

#include "tensor/op.h"
#include "value/value.h"

namespace tsl {

class Context;

/// Whether the value is a bool, int, float or symbol.
inline bool is_host_number(const Value& v) {
  return v.tag() >= Tag::boolean && v.tag() <= Tag::real ? true : v.is(Tag::symbol);
}
/// Whether the value is a bool, or a symbol of one.
inline bool is_host_bool(const Value& v) {
  return v.is(Tag::boolean) || (v.is(Tag::symbol) && v.symbol()->hint.type == ScalarType::boolean);
}
/// Whether the value is an int, or a symbol of one.
inline bool is_host_int(const Value& v) {
  return v.is(Tag::integer) || (v.is(Tag::symbol) && v.symbol()->hint.type == ScalarType::integer);
}

/// Returns the number's present value; for a symbol its hint, without a guard.
Scalar scalar_of(const Value& number);
/// Returns the number's value and makes a trace depend on it.
Scalar pinned(const Value& number, const char* reason);
/// Converts the number to an operand beside tensors.
Operand operand_of(const Value& number);

/// Returns the symbol as a value, or its number if it is constant.
Value from_symbol(const Symbol* symbol);
/// Convert a host int to a size, and back.
Dim dim_of(const Value& integer);
Value from_dim(Dim dim);
/// Returns how many ints there are from begin up to but without end. Throws Failure (value) if no int can say so.
Dim count_between(Dim begin, Dim end);

/// Whether the value is a complex tensor, not a number.
inline bool is_complex_tensor(const Value& v) { return is_complex(v) && v.as<Record>().values[0].is(Tag::tensor); }
/// Returns the name of complex numbers whose parts have this dtype: "c64" for f32, "c128" for f64.
std::string_view complex_name_of(DType part);
/// Returns the dtype of the parts of complex numbers of that name; nothing if none are called so.
std::optional<DType> complex_part_named(std::string_view name);

/// Computes on host numbers. Bools count as ints, except in logic and comparisons of bools.
Value apply_scalar(ScalarOp op, const Value& a);
Value apply_scalar(ScalarOp op, const Value& a, const Value& b);

}  // namespace tsl
