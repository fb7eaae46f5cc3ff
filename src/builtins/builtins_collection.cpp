// Defines builtins on ranges and on the items of any value, and tree_map.
#include <algorithm>
#include <functional>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/value_walk.h"
#include "vm/arguments.h"
#include "vm/interpreter.h"
#include "vm/operators.h"

namespace tsl {

namespace {

// The most items of a list made from a range; more must be a mistake.
constexpr int64_t kMaxRangeItems = int64_t{1} << 28;
constexpr int kMaxTreeDepth = 1000;
constexpr int64_t kCallWork = 64;  // of a call, or to make a value

// ---- Ranges and pairs ------------------------------------------------------------------------------

Value as_int(Context& context, const Value& v, const char* what) {
  return is_host_int(v) ? v : Value(expect_int(context, v, what));
}

Value range_builtin(Context& context, Args args) {
  const bool has_stop = !args[1].is_nil();
  if (!has_stop && args.positional == 0) fail(ErrorName::missing_argument, "range with a start by name needs a stop");
  const Value start = has_stop ? as_int(context, args[0], "range's start") : Value(0);
  const Value stop = as_int(context, args[has_stop ? 1 : 0], "range's stop");
  const int64_t step = expect_int(context, args[2], "range's step");
  if (step == 1) {
    Ref<Range> range = make_ref<Range>();
    range->begin = start;
    range->end = stop;
    return Value(std::move(range));
  }
  if (step == 0) fail(ErrorName::zero_step, "range's step cannot be 0");
  const int64_t from = pinned(start, "range").integer, to = pinned(stop, "range").integer;
  Collector items;
  for (int64_t at = from; step > 0 ? at < to : at > to;) {
    items.add(at);
    if (static_cast<int64_t>(items.size()) > kMaxRangeItems)
      fail(ErrorName::too_many_items, "range({}, {}, {}) has too many items for a list", from, to, step);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return make_list(items.take());
}

Value list_builtin(Context& context, Args args) { return make_list(items_of(context, args[0])); }

Value enumerate_builtin(Context& context, Args args) {
  const int64_t start = expect_int(context, args[1], "enumerate's start");
  Collector pairs;
  Value item;
  for (int64_t state = 0; iterate(context, args[0], state, item);) {
    pairs.add(make_tuple({Value(start + static_cast<int64_t>(pairs.size())), item}));
  }
  return make_list(pairs.take());
}

/// Combines items by position, up to the shortest iterable.
std::vector<std::vector<Value>> rows_of(Context& context, std::span<const Value> iterables) {
  constexpr int64_t kRowWork = 64;
  std::vector<std::vector<Value>> rows;
  HostBytes bytes;
  std::vector<int64_t> states(iterables.size(), 0);
  for (;;) {
    std::vector<Value> row(iterables.size());
    for (size_t i = 0; i < iterables.size(); ++i) {
      if (!iterate(context, iterables[i], states[i], row[i])) return rows;
    }
    count_work(kRowWork);
    if (rows.size() == rows.capacity())
      bytes.set(2 * rows.size() * (sizeof(rows[0]) + iterables.size() * sizeof(Value)));
    rows.push_back(std::move(row));
  }
}

Value zip_builtin(Context& context, Args args) {
  Collector tuples;
  if (args.size() == 0) return make_list({});
  if (std::all_of(args.values.begin(), args.values.end(), is_items)) {
    const auto shorter = [](const Value& a, const Value& b) {
      return a.as<Sequence>().items.size() < b.as<Sequence>().items.size();
    };
    const size_t count = std::min_element(args.values.begin(), args.values.end(), shorter)->as<Sequence>().items.size();
    for (size_t i = 0; i < count; ++i) {
      std::vector<Value> row;
      row.reserve(args.size());
      for (const Value& each : args.values) row.push_back(each.as<Sequence>().items[i]);
      tuples.add(make_tuple(std::move(row)));
    }
    return make_list(tuples.take());
  }
  for (std::vector<Value>& row : rows_of(context, args.values)) tuples.add(make_tuple(std::move(row)));
  return make_list(tuples.take());
}

// ---- Functions over items --------------------------------------------------------------------------

Value map_builtin(Context& context, Args args) {
  Collector results;
  if (args.size() == 2 && is_items(args[1])) {
    const Value items = args[1];
    for (size_t i = 0; i < items.as<Sequence>().items.size(); ++i) {
      Value item = items.as<Sequence>().items[i];
      results.add(context.call(args[0], {&item, 1}));
    }
    return make_list(results.take());
  }
  for (std::vector<Value>& row : rows_of(context, args.values.subspan(1))) results.add(context.call(args[0], row));
  return make_list(results.take());
}

Value filter_builtin(Context& context, Args args) {
  Collector kept;
  for (Value& item : items_of(context, args[1])) {
    Value argument = item;
    count_work(kCallWork);
    if (truth(context, context.call(args[0], {&argument, 1}))) kept.add(std::move(item));
  }
  return make_list(kept.take());
}

Value reduce_builtin(Context& context, Args args) {
  std::vector<Value> items = items_of(context, args[1]);
  if (args.size() > 3) fail(ErrorName::wrong_argument_count, "reduce takes one start value, not {}", args.size() - 2);
  if (args.size() == 3) items.insert(items.begin(), args[2]);
  if (items.empty()) fail(ErrorName::empty_input, "reduce of nothing needs a start value");
  Value result = std::move(items[0]);
  polled_each(items.size() - 1, kCallWork, [&](size_t i) {
    Value pair[] = {std::move(result), std::move(items[i + 1])};
    result = context.call(args[0], pair);
  });
  return result;
}

bool is_nan(Context& context, const Value& v) {
  const bool is_real = is_host_number(v) && scalar_of(v).type == ScalarType::real;
  return is_real && truth(context, apply_scalar(ScalarOp::isnan, v));
}

/// Whether a comes before b; NaN counts as the greatest, as in sort.
bool comes_before(Context& context, const Value& a, const Value& b) {
  if (is_nan(context, a)) return false;
  return is_nan(context, b) || truth(context, binary(context, ast::BinaryOp::lt, a, b));
}

/// Returns the items in the order of their keys, which `key_of` reads once each.
template <class KeyOf, class Before> std::vector<Value> sorted_by(const std::vector<Value>& items,
                                                                  const std::vector<Value>& keys, bool reverse,
                                                                  KeyOf key_of, Before before) {
  using Entry = std::pair<decltype(key_of(keys[0])), size_t>;
  std::vector<Entry> order;
  order.reserve(items.size());
  polled_each(items.size(), 2, [&](size_t i) { order.emplace_back(key_of(keys[i]), i); });
  std::stable_sort(order.begin(), order.end(), [&](const Entry& a, const Entry& b) {
    count_work(2);
    return reverse ? before(b.first, a.first) : before(a.first, b.first);
  });
  std::vector<Value> result;
  result.reserve(items.size());
  polled_each(order.size(), 4, [&](size_t i) { result.push_back(items[order[i].second]); });
  return result;
}

std::vector<Value> sorted_items(Context& context, const std::vector<Value>& items, const std::vector<Value>& keys,
                                bool reverse) {
  const auto all = [&](Tag tag) {
    return std::all_of(keys.begin(), keys.end(), [tag](const Value& key) { return key.is(tag); });
  };
  if (all(Tag::integer)) {
    const auto number = [](const Value& key) { return key.integer(); };
    return sorted_by(items, keys, reverse, number, std::less<>());
  }
  if (all(Tag::string)) {
    const auto text = [](const Value& key) { return std::string_view(key.as<String>().text); };
    const auto before = [](std::string_view a, std::string_view b) { return compare_texts(a, b) < 0; };
    return sorted_by(items, keys, reverse, text, before);
  }
  const auto itself = [](const Value& key) { return &key; };
  return sorted_by(items, keys, reverse, itself,
                   [&](const Value* a, const Value* b) { return comes_before(context, *a, *b); });
}

Value sorted_builtin(Context& context, Args args) {
  const std::vector<Value> items = items_of(context, args[0]);
  const bool reverse = expect_bool(context, args[2], "reverse");
  std::vector<Value> sort_keys = items;
  if (!args[1].is_nil()) {
    polled_each(sort_keys.size(), kCallWork, [&](size_t i) {
      Value argument = std::move(sort_keys[i]);
      sort_keys[i] = context.call(args[1], {&argument, 1});
    });
  }
  return make_list(sorted_items(context, items, sort_keys, reverse));
}

Value reversed_builtin(Context& context, Args args) {
  if (is_text(args[0])) {
    std::string text;
    const std::vector<Value> characters = items_of(context, args[0]);
    const size_t last = characters.size() - 1;
    polled_each(characters.size(), 4, [&](size_t i) { text += characters[last - i].as<String>().text; });
    return make_string(std::move(text));
  }
  const bool is_tuple = args[0].is(Tag::tuple);
  if (is_tuple || args[0].is(Tag::list)) {
    const std::vector<Value>& items = is_tuple ? args[0].as<Tuple>().items : args[0].as<List>().items;
    Collector reverse;
    for (size_t i = items.size(); i > 0; --i) reverse.add(items[i - 1]);
    return make_list(reverse.take());
  }
  std::vector<Value> items = items_of(context, args[0]);
  std::reverse(items.begin(), items.end());
  return make_list(std::move(items));
}

// ---- Trees -----------------------------------------------------------------------------------------

/// Calls f on the leaves of equally nested records, maps, lists and tuples.
class TreeMap {
 public:
  TreeMap(Context& context, const Value& function) : context_(context), function_(function) {}

  Value run(const std::vector<Value>& nodes, int depth) {
    if (depth > kMaxTreeDepth) fail(ErrorName::value_too_deep, "tree_map: nested more than {} deep", kMaxTreeDepth);
    if (nodes[0].is(Tag::list)) return make_list(map_items<List>(nodes, depth));
    if (nodes[0].is(Tag::tuple)) return make_tuple(map_items<Tuple>(nodes, depth));
    if (nodes[0].is(Tag::record)) return map_record(nodes, depth);
    if (nodes[0].is(Tag::map)) return map_map(nodes, depth);
    std::vector<Value> leaves = nodes;
    return context_.call(function_, leaves);
  }

 private:
  static void check_same_kind(const std::vector<Value>& nodes) {
    for (const Value& node : nodes) {  // bounded: one for each tree of a call
      if (node.tag() != nodes[0].tag()) {
        fail(ErrorName::structure_mismatch, "tree_map: the structures differ: {} and {}", type_name(nodes[0]),
             type_name(node));
      }
    }
  }

  template <class Sequence> std::vector<Value> map_items(const std::vector<Value>& nodes, int depth) {
    check_same_kind(nodes);
    const size_t count = nodes[0].as<Sequence>().items.size();
    std::vector<Value> results;
    results.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      count_work(kCallWork);
      std::vector<Value> children;
      for (const Value& node : nodes) {
        const std::vector<Value>& items = node.as<Sequence>().items;
        if (items.size() != count)
          fail(ErrorName::structure_mismatch, "tree_map: the structures differ: {} items and {}", count, items.size());
        children.push_back(items[i]);
      }
      results.push_back(run(children, depth + 1));
    }
    return results;
  }

  Value map_record(const std::vector<Value>& nodes, int depth) {
    const Record& first = nodes[0].as<Record>();
    Ref<Record> result = make_ref<Record>();
    result->keys = first.keys;
    result->values = map_entries(nodes, first.values, depth, [&](const Value& node, size_t i) {
      return node.as<Record>().find(first.keys->names[i]);
    });
    return Value(std::move(result));
  }

  Value map_map(const std::vector<Value>& nodes, int depth) {
    const Ref<Map> first = nodes[0].as<Map>().compacted();
    return Value(first->with_values(map_entries(nodes, first->values, depth, [&](const Value& node, size_t i) {
      return node.as<Map>().find(first->keys->all()[i]);
    })));
  }

  /// Maps the values of the first node beside those of the same keys, which find(node, position) finds in the others.
  template <class Find> std::vector<Value> map_entries(const std::vector<Value>& nodes,
                                                       const std::vector<Value>& values, int depth, Find find) {
    check_same_kind(nodes);
    std::vector<Value> results;
    results.reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      count_work(kCallWork);
      std::vector<Value> children;
      for (const Value& node : nodes) {
        const Value* child = find(node, i);
        if (!child || count_entries(node) != values.size()) keys_differ(nodes[0], i);
        children.push_back(*child);
      }
      results.push_back(run(children, depth + 1));
    }
    return results;
  }

  [[noreturn]] static void keys_differ(const Value& first, size_t at) {
    Value key, value;
    int64_t state = 0;
    for (size_t i = 0; i <= at; ++i) next_entry(first, state, key, value);  // bounded: the walk has come so far
    fail(ErrorName::structure_mismatch,
         "tree_map: the structures differ: not all {}s have the keys of the first, such as {}", type_name(first),
         key.is(Tag::string) ? "'" + key.as<String>().text + "'" : key_label(key));
  }

  Context& context_;
  const Value& function_;
};

Value tree_map_builtin(Context& context, Args args) {
  const std::vector<Value> trees(args.values.begin() + 1, args.values.end());
  limit_occurrences(trees[0], "tree_map cannot visit all of a value");
  return TreeMap(context, args[0]).run(trees, 0);
}

/// The loops are compiled with instructions of their own.
Value progress_builtin(Context&, Args args) { return std::move(args[0]); }

constexpr Builtin kCollectionRows[] = {
    {"range", "range(start: integer, stop: integer | nil = nil, step: integer = 1)",
     "the ints from start up to but without stop; range(n) counts from 0", range_builtin, "host"},
    {"list", "list(x: iterable)",
     "the items of x as a list: of a range its ints, of a tensor those along its first axis", list_builtin, "host"},
    {"enumerate", "enumerate(x: iterable, start: integer = 0)", "a list of (number, item)", enumerate_builtin, "host"},
    {"zip", "zip(...lists: iterable)", "a list of tuples of the items side by side, as long as the shortest",
     zip_builtin, "host"},
    with_effect({"map", "map(f: fn | dtype, x: iterable, ...more: iterable)",
                 "the list of f(item), or of f(item, item of more…)", map_builtin, "host", false, true}),
    with_effect({"filter", "filter(f: fn | dtype, x: iterable)", "the list of the items for which f(item) is true",
                 filter_builtin, "host", false, true}),
    with_effect({"reduce", "reduce(f: fn | dtype, x: iterable, ...start: any)",
                 "f(…f(f(start, x[0]), x[1])…); starts with x[0] if there is no start value", reduce_builtin, "host",
                 false, true}),
    with_effect({"tree_map", "tree_map(f: fn | dtype, tree: any, ...more: any)",
                 "the same nested records, maps, lists and tuples with f(leaf) for every leaf", tree_map_builtin,
                 "host", false, true}),
    {"sorted", "sorted(x: iterable, key: fn | dtype | nil = nil, reverse: bool = false)",
     "the items in order, or in the order of key(item); equals keep theirs; NaN counts as the greatest", sorted_builtin,
     "host"},
    {"progress", "progress(x: iterable)",
     "x; a loop `for v in progress(x)` shows on the terminal how far it is, and how long it will take",
     progress_builtin, "host"},
    {"reversed", "reversed(x: iterable)", "the items from the last to the first", reversed_builtin, "host"},
};

}  // namespace

std::vector<Value> items_of(Context& context, const Value& iterable) {
  Collector items;
  Value item;
  for (int64_t state = 0; iterate(context, iterable, state, item);) items.add(std::move(item));
  return items.take();
}

std::span<const Builtin> collection_builtins() { return kCollectionRows; }

}  // namespace tsl
