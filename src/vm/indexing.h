// Reads and assigns items and fields of any value: x[i], x[a:b], x.name.
#pragma once

#include <span>
#include <string>

#include "syntax/ast.h"
#include "value/value.h"

namespace tsl {

class Context;

/// One evaluated item of x[…].
struct IndexItem {
  enum class Kind : uint8_t { value, slice, ellipsis } kind = Kind::value;
  Value value;              // nil inserts a new axis
  Value start, stop, step;  // slice; nil where absent
};

/// Returns the payload of `object` for a change, after copying it if it is shared.
template <class T> T& make_unique(Value& object) {
  if (!object.unique()) {
    object = Value(make_ref<T>(object.as<T>()));
    object.as<T>().count_bytes();
  }
  return object.as<T>();
}

Value get_index(Context&, const Value& object, std::span<const IndexItem> items);
/// As get_index(), of an object that nobody reads afterwards: a slice of a list that has no other owner is that list.
Value take_index(Context&, Value& object, std::span<const IndexItem> items);
// Assignments change `object` in place if it holds the only reference, and otherwise copy what is shared. If one fails,
// `object` is unchanged, so a variable survives a failed assignment.

/// Assigns object[items] = value.
void set_index(Context&, Value& object, std::span<const IndexItem> items, Value value);
/// Assigns object[items] op= value. += and -= with a tensor index accumulate over duplicates.
void update_index(Context&, Value& object, std::span<const IndexItem> items, ast::BinaryOp op, const Value& value);
/// Puts the next character of a text into `item`, in place of a str that nothing else holds. `state` starts at 0;
/// returns false at the end.
bool next_character(const std::string& text, int64_t& state, Value& item);

Value get_field(Context&, const Value& object, Name field);
/// Returns a hint for `object.name(…)`, which does not exist; "" if there is nothing to say.
std::string hint_for_method(Context&, const Value& object, const std::string& name);
/// Assigns object.field = value.
void set_field(Context&, Value& object, Name field, Value value);

}  // namespace tsl
