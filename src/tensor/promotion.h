// The dtypes of elementwise ops: how tensors and host numbers of different types go together.
#pragma once

#include <span>

#include "tensor/op.h"

namespace tsl {

/// The dtype that `operands` promote to. Host numbers are weak: they change the outcome only if they are of a
/// higher class (bool < int < float) than every tensor, and then to that class's default, i64 or f32.
DType promote_operands(std::span<const Operand> operands);

/// The dtype in which an elementwise op takes its operands (where: its last two). Throws Failure (type) if
/// the op does not take them.
DType operand_dtype(const OpDef& op, std::span<const Operand> operands);

/// Where a host number lies beside the range of a dtype.
enum class RangeSide : uint8_t { inside, below, above };

/// The side of an integer dtype's range on which the number's whole part lies; NaN is outside. A float dtype and bool
/// take every number. Of a symbol, each run asks again.
RangeSide range_side(DType dtype, const Operand& number);

/// Throws Failure (value) if the dtype cannot hold the number.
void expect_fits(DType dtype, const Operand& number);

/// The least and the greatest value of an integer dtype.
struct IntegerRange {
  int64_t least, greatest;
};
IntegerRange range_of(DType dtype);

}  // namespace tsl
