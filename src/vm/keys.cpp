#include "vm/keys.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/count_work.h"
#include "base/error_names.h"
#include "value/context.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/utf8.h"
#include "value/value_walk.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

constexpr int kMaxKeyNesting = 100;  // of tuples; deeper ones are no data that anybody looks up
constexpr size_t kMostNamed = 5000;  // keys that an error compares with the missing one

std::string hint_for_key(const Value& value) {
  if (value.is(Tag::tensor)) {
    return value.tensor().rank() == 0 ? "`x.item()` reads the number in a tensor of one element"
                                      : "`str(tolist(x))` makes a str of a tensor, which can be a key";
  }
  if (value.is(Tag::list)) return "a tuple `(a, b)` can be a key; `str(xs)` makes a str of a list";
  if (value.is_nil()) return hint_for_nil(value);
  if (has_entries(value)) return fmt::format("`str(x)` makes a str of a {}, which can be a key", type_name(value));
  if (value.is(Tag::function) || value.is(Tag::builtin)) return "a function is named by a str: `\"f\"`";
  return "";
}

[[noreturn]] void wrong_key(const Value& value) {
  if (value.is(Tag::real)) fail(ErrorName::wrong_key_type, "nan cannot be the key of a map: it is not equal to itself");
  fail_with(ErrorName::wrong_key_type,
            fmt::format("a key of a map is a bool, int, float, str, dtype, or a tuple or range of such, not {}",
                        type_name(value)),
            hints_of(hint_for_key(value)));
}

Value as_key(Context& context, const Value& value, int depth);

/// Whether a value is a key as it is, and holds no others.
bool is_key_itself(const Value& value) {
  const Tag tag = value.tag();
  return tag == Tag::integer || tag == Tag::string || tag == Tag::boolean || tag == Tag::dtype;
}

Value tuple_key(Context& context, const Value& tuple, int depth) {
  if (depth > kMaxKeyNesting) fail(ErrorName::value_too_deep, "a key is nested more than {} deep", kMaxKeyNesting);
  const Value held = tuple;
  const std::vector<Value>& items = held.as<Tuple>().items;
  if (std::all_of(items.begin(), items.end(), is_key_itself)) return held;
  Collector keys;
  bool has_changed = false;
  for (const Value& item : items) {
    Value key = as_key(context, item, depth + 1);
    has_changed = has_changed || !identical(key, item);
    keys.add(std::move(key));
  }
  return has_changed ? make_tuple(keys.take()) : held;
}

Value range_key(const Range& range) {
  Ref<Range> key = make_ref<Range>();
  key->begin = Value(pinned(range.begin, "key"));
  key->end = Value(pinned(range.end, "key"));
  return Value(std::move(key));
}

Value as_key(Context& context, const Value& value, int depth) {
  switch (value.tag()) {
    case Tag::boolean:
    case Tag::integer:
    case Tag::dtype:
    case Tag::string: return value;
    case Tag::symbol: return as_key(context, Value(pinned(value, "key")), depth);
    case Tag::real:
      if (std::isnan(value.real())) wrong_key(value);
      return value;
    case Tag::lazy_string:
      expect_text(context, value, "a key");
      return value.is(Tag::lazy_string) ? *known_string(value) : value;
    case Tag::tuple: return tuple_key(context, value, depth);
    case Tag::range: return range_key(value.as<Range>());
    case Tag::nil:
    case Tag::absent:
    case Tag::list:
    case Tag::record:
    case Tag::map:
    case Tag::function:
    case Tag::builtin:
    case Tag::module:
    case Tag::foreign:
    case Tag::tensor:
    case Tag::cell: break;
  }
  wrong_key(value);
}

bool is_nested(const Tuple& tuple) {
  count_work(static_cast<int64_t>(tuple.items.size()));
  return std::any_of(tuple.items.begin(), tuple.items.end(), [](const Value& item) { return item.is(Tag::tuple); });
}

/// Returns a key as an error shows it.
std::string key_text(Context& context, const Value& key) {
  constexpr size_t kLongest = 80;
  if (key.is(Tag::string) && key.as<String>().text.size() <= kLongest) return "'" + key.as<String>().text + "'";
  const std::string text = to_repr(context, key);
  return text.size() <= kLongest ? text : text.substr(0, utf8_offset(text, kLongest)) + "…";
}

}  // namespace

Value as_key(Context& context, const Value& value) {
  if (value.is(Tag::tuple) && is_nested(value.as<Tuple>())) limit_occurrences(value, "a value cannot be a key");
  return as_key(context, value, 0);
}

const Value* find_entry(Context& context, const Value& container, const Value& key) {
  if (container.is(Tag::map)) {
    const Value known = as_key(context, key);
    return unopened_map(container).find(known);
  }
  const Name name = key.is(Tag::string) ? key.as<String>().name(context.names())
                                        : context.names().find(expect_string(context, key, "a record's key"));
  return container.as<Record>().find(name);
}

bool has_entry(Context& context, const Value& container, const Value& key) {
  if (container.is(Tag::map)) return unopened_map(container).has(as_key(context, key));
  return find_entry(context, container, key) != nullptr;
}

std::vector<std::string> text_keys(const Value& container) {
  std::vector<std::string> keys;
  Value key, value;
  for (int64_t state = 0; keys.size() < kMostNamed && next_entry(container, state, key, value);) {
    if (key.is(Tag::string)) keys.push_back(key.as<String>().text);
  }
  return keys;
}

std::string reason_unread(const Record& record, const std::string& key) {
  if (!record.keys || !record.keys->unread) return "";
  std::string others;
  for (const auto& [name, why] : *record.keys->unread) {
    if (name == key) return why;
    others += (others.empty() ? "its file has what was not read: '" : ", '") + name + "'";
  }
  return others;
}

std::string list_keys(const std::vector<std::string>& keys) {
  constexpr size_t kMost = 8;
  if (keys.empty()) return "";
  std::string text = keys.size() == 1 ? "it has the key " : "it has the keys ";
  for (size_t i = 0; i < keys.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + keys[i];
  return keys.size() > kMost ? text + ", …" : text;
}

void unknown_key(Context& context, const Value& container, const Value& given) {
  const Value key = container.is(Tag::map) ? as_key(context, given) : given;
  const std::vector<std::string> keys = text_keys(container);
  std::vector<std::string> hints;
  if (is_text(key)) {
    const std::string& text = expect_string(context, key, "a key");
    if (container.is(Tag::record)) hints = hints_of(reason_unread(container.as<Record>(), text));
    const std::string near = nearest_name(text, keys);
    hints.push_back(near.empty() ? list_keys(keys) : fmt::format("did you mean '{}'?", near));
  }
  if (container.is(Tag::map)) hints.push_back("`get(m, key, default)` gives a default instead");
  std::erase(hints, "");
  fail_with(ErrorName::missing_key, fmt::format("the {} has no key {}", type_name(container), key_text(context, key)),
            std::move(hints));
}

}  // namespace tsl
