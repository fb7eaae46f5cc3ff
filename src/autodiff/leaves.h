// The tensors in nested values: leaves of lists, tuples, records and maps.
#pragma once

#include <string_view>
#include <vector>

#include "base/error_names.h"
#include "value/builtin.h"
#include "value/map.h"
#include "value/value_walk.h"

namespace tsl {

/// Whether a gradient can flow through a leaf of an argument or a result. Float numbers become tensors.
bool is_float_tensor(const Value& v);
bool is_float_number(const Value& v);

/// What is done with a nested value, for messages.
struct LeafUse {
  std::string_view not_used, to_use;
};
inline constexpr LeafUse kDifferentiated{"a value cannot be differentiated by", "a value to differentiate by"};
inline constexpr LeafUse kMapped{"a value cannot be mapped", "a value to map"};

// Deeper structures would exhaust the C++ stack.
inline constexpr int kMaxLeafDepth = 1000;

/// Rebuilds lists, tuples, records and maps with leaf(v) for every leaf, in order.
template <class Leaf>
Value map_leaves(const Value& value, Leaf&& leaf, const LeafUse& use = kDifferentiated, int depth = 0) {
  if (depth == 0) limit_occurrences(value, use.not_used);
  if (depth > kMaxLeafDepth)
    fail(ErrorName::value_too_deep, "{} is nested more than {} deep", use.to_use, kMaxLeafDepth);
  const auto map_all = [&](const std::vector<Value>& from) {
    std::vector<Value> to;
    to.reserve(from.size());
    for (const Value& item : from) to.push_back(map_leaves(item, leaf, use, depth + 1));
    return to;
  };
  if (value.is(Tag::list)) return make_list(map_all(value.as<List>().items));
  if (value.is(Tag::tuple)) return make_tuple(map_all(value.as<Tuple>().items));
  if (value.is(Tag::map)) return Value(value.as<Map>().with_values(map_all(value.as<Map>().values)));
  if (!value.is(Tag::record)) return leaf(value);
  Ref<Record> record = make_ref<Record>();
  record->keys = value.as<Record>().keys;
  record->values = map_all(value.as<Record>().values);
  return Value(std::move(record));
}

/// Returns the value with nil for each leaf through which no gradient flows.
Value float_tensors(const Value& value);
/// Appends the tensors through which a gradient can flow, in order.
void add_float_tensors(const Value& value, std::vector<Tensor>& tensors);

/// Calls the function with its bound arguments: those given by name keep their names, so that they mean the same.
Value call_as_given(Context& context, const Value& function, Args args);

}  // namespace tsl
