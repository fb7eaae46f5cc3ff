// Implements the language's operators for all values: the slow path behind the interpreter's fast paths for host
// numbers, and the functions that builtins use. Every decision of control flow on a value is made here, so traces
// record branches and host reads here.
#pragma once

#include <span>

#include "syntax/ast.h"
#include "value/value.h"

namespace tsl {

class Context;

Value binary(Context&, ast::BinaryOp op, const Value& a, const Value& b);
Value negated(Context&, const Value& a);
/// Compares values deeply and returns one bool; `==` of the language is elementwise for tensors.
bool deep_equal(Context&, const Value& a, const Value& b);

/// Returns the truth of a bool or a 0-d bool tensor, as `if`, `while`, `and`, `or` and `not` need it; anything else is
/// error[type]. A trace reads the tensor, or pins the symbol.
bool truth(Context&, const Value& value);

/// Advances a `for` loop; returns false at the end. `state` starts at 0. Iterates over ranges, lists, tuples, records
/// ((k, v) tuples), strings (characters) and the first axis of a tensor.
bool iterate(Context&, const Value& iterable, int64_t& state, Value& item);

}  // namespace tsl
