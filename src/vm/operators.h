// Implements the language's operators for all values: the slow path behind the interpreter's fast paths for host
// numbers, and the functions that builtins use. Every decision of control flow on a value is made here, so traces
// record branches and host reads here.
#pragma once

#include <span>

#include "syntax/ast.h"
#include "tensor/op.h"
#include "value/value.h"

namespace tsl {

class Context;

/// Operands of an operator that nothing else references and nobody reads afterwards: the result may use the memory of
/// such a tensor.
struct DyingOperands {
  bool a = false, b = false;
};

Value binary(Context&, ast::BinaryOp op, const Value& a, const Value& b, DyingOperands dying = {});
Value negated(Context&, const Value& a, bool is_dying = false);
/// Flips the bits of ints and int tensors; `not` of bools and bool tensors.
Value inverted(Context&, const Value& a, bool is_dying = false);
/// Returns the number or tensor itself; of a bool the int.
Value plus(const Value& a);
/// Returns the operand of an op for a tensor or a host number.
Operand op_operand(const Value& v, bool is_dying = false);
/// Compares values deeply and returns one bool; `==` of the language is elementwise for tensors.
bool deep_equal(Context&, const Value& a, const Value& b);

/// Returns the truth of a bool or a 0-d bool tensor, as `if`, `while`, `and`, `or` and `not` need it; anything else is
/// error[type]. A trace reads the tensor, or pins the symbol.
bool truth(Context&, const Value& value);

/// Advances a `for` loop; returns false at the end. `state` starts at 0. Iterates over ranges, lists, tuples, records
/// ((k, v) tuples), strings (characters) and the first axis of a tensor.
bool iterate(Context&, const Value& iterable, int64_t& state, Value& item);

}  // namespace tsl
