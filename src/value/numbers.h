// Host numbers as Values: bools, ints, floats, and the symbols that stand for them while tracing.
#pragma once

#include "tensor/op.h"
#include "value/value.h"

namespace tsl {

class Engine;

/// A bool, int, float or symbol.
inline bool is_host_number(const Value& v) {
  return v.tag() >= Tag::boolean && v.tag() <= Tag::real ? true : v.is(Tag::symbol);
}
/// A bool, or a symbol that stands for one.
inline bool is_host_bool(const Value& v) {
  return v.is(Tag::boolean) || (v.is(Tag::symbol) && v.symbol()->hint.type == ScalarType::boolean);
}
/// An int, or a symbol that stands for one.
inline bool is_host_int(const Value& v) {
  return v.is(Tag::integer) || (v.is(Tag::symbol) && v.symbol()->hint.type == ScalarType::integer);
}

/// The number's present value; of a symbol, its hint (without a guard).
Scalar scalar_of(const Value& number);
/// The number's value, which a trace from now on depends on.
Scalar pinned(const Value& number, const char* reason);
/// The number as an operand beside tensors.
Operand operand_of(const Value& number);

/// A symbol, or its value if it is constant.
Value from_symbol(const Symbol* symbol);
/// A host int as a size, and back.
Dim dim_of(const Value& integer);
Value from_dim(Dim dim);

/// Arithmetic on host numbers. Bools count as ints, except in logic and comparisons of bools.
Value apply_scalar(ScalarOp op, const Value& a);
Value apply_scalar(ScalarOp op, const Value& a, const Value& b);

}  // namespace tsl
