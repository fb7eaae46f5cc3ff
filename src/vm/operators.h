// The operators of the language on any values: the slow path behind the interpreter's fast paths for host
// numbers, and what builtins use. Everything that decides control flow on a value passes through here, so this
// is where a trace learns of branches and reads.
#pragma once

#include <span>

#include "syntax/ast.h"
#include "value/value.h"

namespace tsl {

class Engine;

Value binary(Engine&, ast::BinaryOp op, const Value& a, const Value& b);
Value unary(Engine&, ast::UnaryOp op, const Value& a);
/// `==` of the language gives an elementwise tensor for tensors; this compares deeply and gives one bool.
bool deep_equal(Engine&, const Value& a, const Value& b);

/// For `if`, `while`, `and`, `or`, `not`: a bool or a 0-d bool tensor; anything else is error[type] that suggests
/// any()/all() for larger tensors. Reads the tensor, or pins the symbol, if tracing.
bool truth(Engine&, const Value& value);

/// One item of x[…], evaluated.
struct IndexItem {
  enum class Kind : uint8_t { value, slice, ellipsis } kind = Kind::value;
  Value value;              // nil: a new axis
  Value start, stop, step;  // slice; nil where absent
};

Value get_index(Engine&, const Value& object, std::span<const IndexItem> items);
// Assignments change `object` itself: in place where it holds the only reference, else after copying what is
// shared. On failure `object` is as it was, so a variable survives a failed assignment.

/// object[items] = value
void set_index(Engine&, Value& object, std::span<const IndexItem> items, Value value);
/// object[items] op= value, which accumulates over duplicates for += and -= with a tensor index.
void update_index(Engine&, Value& object, std::span<const IndexItem> items, ast::BinaryOp op, const Value& value);
Value get_field(Engine&, const Value& object, Name field);
/// object.field = value
void set_field(Engine&, Value& object, Name field, Value value);

/// Steps of `for`. `state` starts at 0; gives false at the end. Over ranges, lists, tuples, records ((k, v)
/// tuples), strings (characters) and the first axis of a tensor.
bool iterate(Engine&, const Value& iterable, int64_t& state, Value& item);

}  // namespace tsl
