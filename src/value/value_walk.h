// Walks nested values without recursion, because programs may nest values without limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/count_work.h"
#include "value/map.h"
#include "value/value.h"

namespace tsl {

/// Whether the value contains others that a trace may replace. A closure's variables do not count.
inline bool has_elements(const Value& v) {
  if (v.tag() < Tag::list) return false;  // most
  switch (v.tag()) {
    case Tag::list:
    case Tag::tuple:
    case Tag::record:
    case Tag::map:
    case Tag::lazy_string: return true;
    case Tag::range: return v.as<Range>().begin.is(Tag::symbol) || v.as<Range>().end.is(Tag::symbol);
    case Tag::nil:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::dtype:
    case Tag::absent:
    case Tag::symbol:
    case Tag::string:
    case Tag::function:
    case Tag::builtin:
    case Tag::module:
    case Tag::foreign:
    case Tag::tensor:
    case Tag::cell: return false;
  }
  return false;
}

namespace elements_of {

size_t count(const Value& v);
const Value& at(const Value& v, size_t index);
/// Returns the first element if the elements are stored contiguously, else null.
const Value* items(const Value& v);
/// Returns the values in a list, tuple, record, map or builtin, which the object is; null for other tags.
std::vector<Value>* values_in(Tag tag, Object* object);
/// Returns the same kind of value as `v` with other elements.
Value replaced(const Value& v, std::vector<Value> with);

}  // namespace elements_of

/// Whether a value is more than its elements, for a walk: a lazy string, a list in a trace with a prefix, or a map in a
/// trace with entries of an input.
inline bool is_also_leaf(const Value& v) {
  return v.is(Tag::lazy_string) || (v.is(Tag::list) && unopened(v).prefix) || (v.is(Tag::map) && unopened_map(v).input);
}

/// Replaces leaves. Calls `leaf(const Value& element, Value& with)` for every element without elements of its own, and
/// for what is_also_leaf() after its elements; `leaf` returns whether it has stored a replacement in
/// `with`, which is nil before. Values without changes remain the same objects; shared objects are visited once and
/// remain shared. Returns whether anything changed.
template <class Leaf> bool replace_leaves(Value& value, Leaf&& leaf) {
  struct Level {
    explicit Level(const Value& from) : from(&from), count(elements_of::count(from)), items(elements_of::items(from)) {}
    const Value* from;
    size_t count;
    const Value* items;            // all elements, or null if they are not contiguous
    std::vector<Value> changed{};  // the elements so far, nil from `next` on; empty until one changes
    size_t next = 0;
    const Value& element() const { return items ? items[next] : elements_of::at(*from, next); }
    void keep() {
      if (!changed.empty()) changed[next] = element();
      ++next;
    }
    void begin_change() {
      changed.resize(count);
      for (size_t i = 0; i < next; ++i) changed[i] = elements_of::at(*from, i);
    }
    void put(Value element) {
      if (changed.empty()) begin_change();
      changed[next++] = std::move(element);
    }
    /// Advances to the next element that has elements.
    void pass_leaves(Leaf& leaf) {
      while (next < count && (changed.empty() || !items)) {
        if (has_elements(element())) return;
        if (Value with; leaf(element(), with)) put(std::move(with));
        else keep();
      }
      if (!items || changed.empty()) return;
      // Fast loop: a value with hundreds of elements is usually a list whose elements all change.
      const Value* element = items + next;
      const Value* const end = items + count;
      for (Value* to = changed.data() + next; element != end && !has_elements(*element); ++element, ++to) {
        if (!leaf(*element, *to)) *to = *element;
      }
      next = static_cast<size_t>(element - items);
    }
  };
  if (!has_elements(value)) {
    Value now;
    if (!leaf(std::as_const(value), now)) return false;
    value = std::move(now);
    return true;
  }
  const Value root = value;                       // keeps the value alive during the walk
  std::unordered_map<const Object*, Value> done;  // shared objects
  std::vector<Level> levels;
  levels.reserve(8);  // most values nest no deeper
  levels.emplace_back(root);
  while (true) {
    Level& level = levels.back();
    level.pass_leaves(leaf);
    if (level.next < level.count) {
      const Value& element = level.element();
      if (const auto known = element.unique() ? done.end() : done.find(&element.as<Object>()); known != done.end()) {
        if (identical(known->second, element)) level.keep();
        else level.put(known->second);
      } else {
        levels.emplace_back(element);
      }
      continue;
    }
    const Value& from = *level.from;
    Value now = level.changed.empty() ? from : elements_of::replaced(from, std::move(level.changed));
    if (Value joined; is_also_leaf(now) && leaf(std::as_const(now), joined)) now = std::move(joined);
    levels.pop_back();
    if (levels.empty()) {
      value = std::move(now);
      return !identical(value, root);
    }
    const bool is_new = !identical(now, from);
    if (!from.unique()) done.emplace(&from.as<Object>(), now);
    if (is_new) levels.back().put(std::move(now));
    else levels.back().keep();
  }
}

/// What a walk does after a value.
enum class Walk : uint8_t {
  into,  // visits its elements next
  over,  // leaves them out
  end,   // visits nothing any more
};

/// Calls visit(const Value&), which returns a Walk, for a value and those in it, in order and to any depth; for what is
/// shared once. Counts its work. Returns false if a visit ended the walk.
template <class Visit> bool walk_values(const Value& value, Visit&& visit) {
  constexpr int64_t kVisitWork = 8;
  struct Level {
    const Value* value;
    size_t count, next;
  };
  std::unordered_set<const Object*> seen;  // shared objects
  std::vector<Level> levels;
  const Value* at = &value;
  for (;;) {
    count_work(kVisitWork);
    const Walk walk = visit(*at);
    if (walk == Walk::end) return false;
    const bool enters =
        walk == Walk::into && has_elements(*at) && (at->unique() || seen.insert(&at->as<Object>()).second);
    if (enters) levels.push_back({at, elements_of::count(*at), 0});
    while (!levels.empty() && levels.back().next == levels.back().count) levels.pop_back();
    if (levels.empty()) return true;
    at = &elements_of::at(*levels.back().value, levels.back().next++);
  }
}

/// Whether `test` holds for any leaf, in the sense of replace_leaves().
template <class Test> bool any_leaf(const Value& value, Test&& test) {
  return !walk_values(value, [&](const Value& v) {
    const bool is_leaf = !has_elements(v) || is_also_leaf(v);
    return is_leaf && test(v) ? Walk::end : Walk::into;
  });
}

/// Returns how many values a walk would visit that visits shared elements wherever they occur: each leaf counts as
/// weigh(leaf), a container as one more than its elements. Visits shared elements once. Counts no further than 2^50,
/// and what is nested more than `max_depth` deep as one.
template <class Weigh> class OccurrenceCounter {
 public:
  OccurrenceCounter(int max_depth, Weigh weigh) : max_depth_(max_depth), weigh_(std::move(weigh)) {}

  uint64_t count(const Value& v, int depth = 0) {  // bounded recursion: by max_depth_
    if (!has_elements(v)) return weigh_(v);
    if (depth > max_depth_) return 1;
    if (!v.unique()) {
      const auto known = counts_.find(&v.as<Object>());
      if (known != counts_.end()) return known->second;
    }
    uint64_t total = 1;
    count_work(64 + 4 * static_cast<int64_t>(elements_of::count(v)));
    for (size_t i = 0; i < elements_of::count(v); ++i)
      total = std::min(total + count(elements_of::at(v, i), depth + 1), kTooMany);
    if (!v.unique()) counts_.emplace(&v.as<Object>(), total);
    return total;
  }

 private:
  static constexpr uint64_t kTooMany = uint64_t{1} << 50;  // a sum of several does not wrap around

  const int max_depth_;
  Weigh weigh_;
  std::unordered_map<const Object*, uint64_t> counts_;  // of shared values
};

/// Fails if a value is too large to be walked with its shared elements wherever they occur. `action`: "cannot print
/// it".
void limit_occurrences(const Value& v, std::string_view action);

}  // namespace tsl
