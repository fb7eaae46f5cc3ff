// The operators of the language on any values: the slow path behind the interpreter's fast paths for host
// numbers, and what builtins use. Everything that decides control flow on a value passes through here, so this
// is where a trace learns of branches and reads.
#pragma once

#include <span>

#include "syntax/ast.h"
#include "value/value.h"

namespace tsl {

class Context;

Value binary(Context&, ast::BinaryOp op, const Value& a, const Value& b);
Value negated(Context&, const Value& a);
/// `==` of the language gives an elementwise tensor for tensors; this compares deeply and gives one bool.
bool deep_equal(Context&, const Value& a, const Value& b);

/// For `if`, `while`, `and`, `or`, `not`: a bool or a 0-d bool tensor; anything else is error[type] that suggests
/// any()/all() for larger tensors. Reads the tensor, or pins the symbol, if tracing.
bool truth(Context&, const Value& value);

/// Steps of `for`. `state` starts at 0; gives false at the end. Over ranges, lists, tuples, records ((k, v)
/// tuples), strings (characters) and the first axis of a tensor.
bool iterate(Context&, const Value& iterable, int64_t& state, Value& item);

}  // namespace tsl
