// Defines builtins on the entries of records and maps, and on maps as sets of keys.
#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/hints.h"
#include "value/map.h"
#include "vm/arguments.h"
#include "vm/indexing.h"
#include "vm/interpreter.h"
#include "vm/keys.h"
#include "vm/operators.h"

namespace tsl {

namespace {

constexpr int64_t kEntryWork = 64;  // to look up or add an entry

/// Makes a list of part(key, value) of each entry.
template <class Part> Value list_entries(const Value& container, Part part) {
  Collector parts;
  Value key, value;
  for (int64_t state = 0; next_entry(container, state, key, value);) parts.add(part(std::move(key), std::move(value)));
  return make_list(parts.take());
}

Value keys_builtin(Context&, Args args) {
  return list_entries(args[0], [](Value key, const Value&) { return key; });
}

Value values_builtin(Context&, Args args) {
  return list_entries(args[0], [](const Value&, Value value) { return value; });
}

Value items_builtin(Context&, Args args) {
  return list_entries(args[0], [](Value key, Value value) { return make_tuple({std::move(key), std::move(value)}); });
}

void check_key(const Value& container, const Value& key) {
  if (container.is(Tag::record) && !is_text(key)) {
    fail_argument(ErrorName::wrong_argument_type, "key",
                  fmt::format("a record's key must be a str, not {}", type_name(key)),
                  hints_to_make(Wanted::text, key));
  }
}

Value has_builtin(Context& context, Args args) {
  check_key(args[0], args[1]);
  return has_entry(context, args[0], args[1]);
}

Value get_builtin(Context& context, Args args) {
  check_key(args[0], args[1]);
  const Value* found = find_entry(context, args[0], args[1]);
  return found ? *found : args[2];
}

Value remove_builtin(Context& context, Args args) {
  const Value key = as_key(context, args[1]);
  Value map = std::move(args[0]);
  if (!unique_map(map).remove(key)) unknown_key(context, map, key);
  return map;
}

// ---- Maps of other values --------------------------------------------------------------------------

/// Calls visit(item) for the items of an iterable: keys of a record or map, numbers of a tensor of one dimension.
template <class Visit> void each_key(Context& context, const Value& iterable, Visit visit) {
  if (has_entries(iterable)) {
    Value key, value;
    for (int64_t state = 0; next_entry(iterable, state, key, value);) visit(key);
  } else if (const auto items = sequence_items(context, iterable)) {
    polled_each(items->size(), kEntryWork, [&](size_t i) { visit((*items)[i]); });
  } else {
    Value item;
    for (int64_t state = 0; iterate(context, iterable, state, item);) visit(item);
  }
}

void add_pair(Context& context, Map& map, const Value& pair) {
  const auto parts = is_items(pair) ? sequence_items(context, pair) : std::nullopt;
  if (!parts || parts->size() != 2) {
    fail_with(ErrorName::wrong_part_count,
              fmt::format("dict takes pairs of a key and a value, not {}",
                          parts ? fmt::format("a {} of {}", type_name(pair), parts->size()) : type_name(pair)),
              {"`zip(keys, values)` makes pairs; `set(xs)` makes a map of keys alone"});
  }
  map.set(as_key(context, (*parts)[0]), (*parts)[1]);
}

Value dict_builtin(Context& context, Args args) {
  if (args[0].is(Tag::map)) return std::move(args[0]);
  Ref<Map> map = make_ref<Map>();
  if (args[0].is_nil()) return Value(std::move(map));
  Value item;
  for (int64_t state = 0; iterate(context, args[0], state, item);) {
    count_work(kEntryWork);
    add_pair(context, *map, item);
  }
  return Value(std::move(map));
}

Ref<Map> set_of(Context& context, const Value& iterable) {
  Ref<Map> set = make_ref<Map>();
  if (iterable.is_nil()) return set;
  if (is_items(iterable)) set->reserve(iterable.as<Sequence>().items.size());
  each_key(context, iterable, [&](const Value& item) {
    count_work(kEntryWork);
    set->set(as_key(context, item), Value(true));
  });
  return set;
}

Value set_builtin(Context& context, Args args) { return Value(set_of(context, args[0])); }

Value union_builtin(Context& context, Args args) {
  Ref<Map> all = set_of(context, args[0]);
  each_key(context, Value(set_of(context, args[1])), [&](const Value& key) { all->set(key, Value(true)); });
  return Value(std::move(all));
}

/// Returns the set of those items of `from` that `others` has, or has not.
Value keep(Context& context, const Value& from, const Value& others, bool is_in_others) {
  const Ref<Map> wanted = set_of(context, others);
  Ref<Map> kept = make_ref<Map>();
  each_key(context, from, [&](const Value& item) {
    count_work(kEntryWork);
    const Value key = as_key(context, item);
    if ((wanted->find(key) != nullptr) == is_in_others) kept->set(key, Value(true));
  });
  return Value(std::move(kept));
}

Value intersection_builtin(Context& context, Args args) { return keep(context, args[0], args[1], true); }
Value difference_builtin(Context& context, Args args) { return keep(context, args[0], args[1], false); }

constexpr Builtin kEntriesRows[] = {
    {"keys", "keys(record: record | map)", "the list of the keys of a record or a map", keys_builtin, "host"},
    {"values", "values(record: record | map)", "the list of the values of a record or a map", values_builtin, "host"},
    {"items", "items(record: record | map)", "the list of (key, value) of a record or a map", items_builtin, "maps"},
    {"has", "has(record: record | map, key: any)", "whether a record or a map has a key, as `key in m`", has_builtin,
     "host"},
    {"get", "get(x: record | map, key: any, default: any = nil)",
     "the value of a key in a record or a map, or the default if it has no such key", get_builtin, "maps"},
    {"remove", "remove(x: map, key: any)", "the map without a key, which it must have: `m = remove(m, k)`",
     remove_builtin, "maps"},
    {"dict", "dict(x: iterable | nil = nil)", "a map of pairs (key, value), of a record, or an empty one", dict_builtin,
     "maps"},
    {"set", "set(x: iterable | nil = nil)",
     "a set: a map of the items, or of the keys of a record or a map, to true; each item once, in their order",
     set_builtin, "maps"},
    {"union", "union(a: iterable, b: iterable)", "the set of what is in a or in b", union_builtin, "maps"},
    {"intersection", "intersection(a: iterable, b: iterable)", "the set of what is in a and in b", intersection_builtin,
     "maps"},
    {"difference", "difference(a: iterable, b: iterable)", "the set of what is in a and not in b", difference_builtin,
     "maps"},
};

}  // namespace

std::span<const Builtin> entry_builtins() { return kEntriesRows; }

}  // namespace tsl
