// Determines the dtypes of elementwise ops, for tensors and host numbers of different types.
#pragma once

#include <span>

#include "tensor/op.h"

namespace tsl {

/// Returns the dtype of a tensor made of a host number without a dtype.
DType default_dtype(ScalarType type);

/// Returns the dtype that `operands` promote to. Host numbers are weak: they matter only if their class (bool < int <
/// float) is higher than that of every tensor, and then count as i64 or f32.
DType promote_operands(std::span<const Operand> operands);

/// Returns the dtype to which an elementwise op converts its operands (where: its last two). Throws Failure (type) if
/// the op does not support them.
DType operand_dtype(const OpDef& op, std::span<const Operand> operands);

}  // namespace tsl
