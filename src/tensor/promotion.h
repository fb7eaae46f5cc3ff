// The dtypes of elementwise ops: how tensors and host numbers of different types go together.
#pragma once

#include <span>

#include "tensor/op.h"

namespace tsl {

/// The dtype of a tensor made of a host number, if no other is asked for.
DType default_dtype(ScalarType type);

/// The dtype that `operands` promote to. Host numbers are weak: they change the outcome only if they are of a
/// higher class (bool < int < float) than every tensor, and then to that class's default, i64 or f32.
DType promote_operands(std::span<const Operand> operands);

/// The dtype in which an elementwise op takes its operands (where: its last two). Throws Failure (type) if
/// the op does not take them.
DType operand_dtype(const OpDef& op, std::span<const Operand> operands);

}  // namespace tsl
