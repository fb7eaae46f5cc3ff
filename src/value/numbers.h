// Numbers as Values: bools, ints, floats, symbols of such numbers during a trace, and complex ones.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/op.h"
#include "value/value.h"

namespace tsl {

class Builtins;
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

/// Computes on host numbers. Bools count as ints, except in logic and comparisons of bools.
Value apply_scalar(ScalarOp op, const Value& a);
Value apply_scalar(ScalarOp op, const Value& a, const Value& b);

// ---- Complex numbers and tensors ---------------------------------------------------------------------------
//
// They are marked records of `re` and `im`, two numbers or two tensors of a shape and a dtype (is_complex()). All
// computation is on the parts. Files and other programs have both parts of a number side by side: such memory is taken,
// and given, as two views of it.

/// Whether the value is a complex tensor, not a number.
inline bool is_complex_tensor(const Value& v) { return is_complex(v) && v.as<Record>().values[0].is(Tag::tensor); }
/// Whether the value is c64 or c128, the dtypes of complex tensors, which are functions of the prelude.
bool is_complex_dtype(const Value& value);
/// Returns the name of complex numbers whose parts have this dtype: "c64" for f32, "c128" for f64.
std::string_view complex_name_of(DType part);
/// Returns the dtype of the parts of complex numbers of that name; nothing if none are called so.
std::optional<DType> complex_part_named(std::string_view name);

/// Makes the keys of all complex numbers of an engine (Builtins::complex_keys()).
Ref<RecordKeys> make_complex_keys(Interner& names);

/// Makes a complex number of two numbers, or a complex tensor of two tensors of a shape and a dtype.
Value make_complex(const Builtins& builtins, Value re, Value im);
Value make_complex(Context& context, Value re, Value im);
/// Returns a part of a complex number: `re`, or with `is_imaginary` `im`. Of another value the value itself, or 0.
Value complex_part(const Value& value, bool is_imaginary);

/// Makes a complex tensor of memory with interleaved parts. `numbers` counts in numbers, from the first element on.
Value complex_of_pairs(Context& context, const Tensor& memory, const Layout& numbers);
/// As above, of dense numbers in host memory, on the device where new tensors are.
Value placed_complex(Context& context, const Tensor& memory, const Layout& numbers);
/// Makes a complex tensor of the pairs along the last axis of a tensor.
Value complex_of_pairs(Context& context, const Tensor& pairs);

/// A tensor whose elements are read as complex numbers where it is told so.
struct Interleaved {
  Tensor memory;   // at `memory.data()` is the real part of the first number
  Layout numbers;  // counted in numbers from there on
};
/// Returns a complex tensor as interleaved memory: that which it has, or a new one.
Interleaved interleaved(Context& context, const Value& z);
/// Returns the parts of the numbers of a complex tensor in order, one beside the other, in a tensor of one axis.
Tensor pairs_in_order(Context& context, const Value& z);

}  // namespace tsl
