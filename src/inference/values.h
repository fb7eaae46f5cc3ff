// Values of which some is not known: numbers are symbols, tensors have types alone, and all else that is not known is
// one value.
#pragma once

#include <string>
#include <unordered_map>

#include "inference/sketch_runtime.h"
#include "value/value.h"

namespace tsl::inference {

/// Returns the value that stands for any.
const Value& unknown();
inline bool is_unknown(const Value& value) { return value.is(Tag::foreign); }
/// Whether a value or a part of it is not known at all. One of very many parts counts as such.
bool holds_unknown(const Value& value);

/// Returns what is sure of a value that is one of two.
Value join(SymbolTable& symbols, const Value& a, const Value& b);
/// Whether as much is known of one as of the other.
bool is_same(const Value& a, const Value& b);

/// The names by which a text calls sizes.
using SizeNames = std::unordered_map<const Symbol*, std::string>;

/// A type as it is shown: "f32[n, 3]", "{w: f32[4], b: f32[]}"; "" if nothing is known.
struct ShownType {
  std::string text;
  bool has_tensor = false;
  friend bool operator==(const ShownType& a, const ShownType& b) = default;
};
ShownType shown_type(const Value& value, const SizeNames& names);

}  // namespace tsl::inference
