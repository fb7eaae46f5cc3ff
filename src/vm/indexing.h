// Items and fields of any value: x[i], x[a:b], x.name, read and assigned.
#pragma once

#include <span>

#include "syntax/ast.h"
#include "value/value.h"

namespace tsl {

class Context;

/// One item of x[…], evaluated.
struct IndexItem {
  enum class Kind : uint8_t { value, slice, ellipsis } kind = Kind::value;
  Value value;              // nil: a new axis
  Value start, stop, step;  // slice; nil where absent
};

Value get_index(Context&, const Value& object, std::span<const IndexItem> items);
// Assignments change `object` itself: in place where it holds the only reference, else after copying what is
// shared. On failure `object` is as it was, so a variable survives a failed assignment.

/// object[items] = value
void set_index(Context&, Value& object, std::span<const IndexItem> items, Value value);
/// object[items] op= value, which accumulates over duplicates for += and -= with a tensor index.
void update_index(Context&, Value& object, std::span<const IndexItem> items, ast::BinaryOp op, const Value& value);
Value get_field(Context&, const Value& object, Name field);
/// object.field = value
void set_field(Context&, Value& object, Name field, Value value);

}  // namespace tsl
