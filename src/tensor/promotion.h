// Determines the dtypes of elementwise ops, for tensors and host numbers of different types.
#pragma once

#include <span>

#include "tensor/op.h"

namespace tsl {

/// Returns the dtype of a tensor made of a host number without a dtype; `reals`: of floats, see Ops::reals().
DType default_dtype(ScalarType type, DType reals = DType::f32);

/// Returns the dtype that `operands` promote to. Host numbers are weak: they matter only if their class (bool < int <
/// float) is higher than that of every tensor, and then count as i64 or as Ops::promoted_reals() (without `ops`: f32).
DType promote_operands(std::span<const Operand> operands, const Ops* ops = nullptr);

/// Whether an elementwise op of this rule is defined on elements of the dtype: an arithmetic one on bools if it is add
/// (`or`), mul (`and`), minimum or maximum.
constexpr bool is_defined(Op op, DTypeRule rule, DType dtype) {
  switch (rule) {
    case DTypeRule::same: return dtype != DType::boolean;
    case DTypeRule::arithmetic:
      return dtype != DType::boolean || op == Op::add || op == Op::mul || op == Op::minimum || op == Op::maximum;
    case DTypeRule::floating:
    case DTypeRule::predicate: return is_float(dtype);
    case DTypeRule::bitwise: return !is_float(dtype);
    case DTypeRule::shift: return !is_float(dtype) && dtype != DType::boolean;
    case DTypeRule::compare:
    case DTypeRule::select: return true;
  }
  return false;
}

/// Returns the dtype to which an elementwise op converts its operands (where: its last two). Throws Failure (type) if
/// the op does not support them.
DType operand_dtype(const OpDef& op, std::span<const Operand> operands, const Ops& ops);

/// Where a host number lies beside the range of a dtype.
enum class RangeSide : uint8_t { inside, below, above };

/// The side of an integer dtype's range on which the number's whole part lies; NaN is outside. A float dtype and bool
/// take every number. Of a symbol, each run asks again.
RangeSide range_side(DType dtype, const Operand& number);

/// Throws Failure (value) if the dtype cannot hold the number.
void expect_fits(DType dtype, const Operand& number);
/// The same for a number without a symbol. Makes no operand for a float dtype, since each write of an element checks.
inline void expect_fits(DType dtype, Scalar number) {
  if (is_integer(dtype)) expect_fits(dtype, Operand(number));
}

/// The least and the greatest value of an integer dtype.
struct IntegerRange {
  int64_t least;
  uint64_t greatest;
};
IntegerRange range_of(DType dtype);

}  // namespace tsl
