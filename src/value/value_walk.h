// Walks nested values without recursion, because programs may nest values without limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "value/value.h"

namespace tsl {

namespace parts {

/// Whether the value contains others that a trace may replace. A closure's variables do not count.
inline bool has_parts(const Value& v) {
  if (v.tag() < Tag::list) return false;  // most
  switch (v.tag()) {
    case Tag::list:
    case Tag::tuple:
    case Tag::record:
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

size_t count(const Value& v);
const Value& at(const Value& v, size_t index);
/// Returns the first part if the parts are stored contiguously, else null.
const Value* items(const Value& v);
/// Returns the values in a list, tuple, record or builtin, which the object is; null for other tags.
std::vector<Value>* values_in(Tag tag, Object* object);
/// Returns the same kind of value as `v` with other parts.
Value replaced(const Value& v, std::vector<Value> with);

}  // namespace parts

/// Replaces leaves. Calls `leaf(const Value& part, Value& with)` for every part without parts of its own, and for lazy
/// strings after their pieces; `leaf` returns whether it has stored a replacement in `with`, which is nil before.
/// Values without changes remain the same objects; shared objects are visited once and remain shared. Returns whether
/// anything changed.
template <class Leaf> bool replace_leaves(Value& value, Leaf&& leaf) {
  struct Level {
    explicit Level(const Value& from) : from(&from), count(parts::count(from)), items(parts::items(from)) {}
    const Value* from;
    size_t count;
    const Value* items;            // all parts, or null if they are not contiguous
    std::vector<Value> changed{};  // the parts so far, nil from `next` on; empty until one changes
    size_t next = 0;
    const Value& part() const { return items ? items[next] : parts::at(*from, next); }
    void keep() {
      if (!changed.empty()) changed[next] = part();
      ++next;
    }
    void begin_change() {
      changed.resize(count);
      for (size_t i = 0; i < next; ++i) changed[i] = parts::at(*from, i);
    }
    void put(Value part) {
      if (changed.empty()) begin_change();
      changed[next++] = std::move(part);
    }
    /// Advances to the next part that has parts.
    void pass_leaves(Leaf& leaf) {
      while (next < count && (changed.empty() || !items)) {
        if (parts::has_parts(part())) return;
        if (Value with; leaf(part(), with)) put(std::move(with));
        else keep();
      }
      if (!items || changed.empty()) return;
      // Fast loop: a value with hundreds of parts is usually a list whose parts all change.
      const Value* part = items + next;
      const Value* const end = items + count;
      for (Value* to = changed.data() + next; part != end && !parts::has_parts(*part); ++part, ++to) {
        if (!leaf(*part, *to)) *to = *part;
      }
      next = static_cast<size_t>(part - items);
    }
  };
  if (!parts::has_parts(value)) {
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
      const Value& part = level.part();
      if (const auto known = part.unique() ? done.end() : done.find(&part.as<Object>()); known != done.end()) {
        if (identical(known->second, part)) level.keep();
        else level.put(known->second);
      } else {
        levels.emplace_back(part);
      }
      continue;
    }
    const Value& from = *level.from;
    Value now = level.changed.empty() ? from : parts::replaced(from, std::move(level.changed));
    if (Value joined; now.is(Tag::lazy_string) && leaf(std::as_const(now), joined)) now = std::move(joined);
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

/// Whether `test` holds for any leaf.
template <class Test> bool any_leaf(const Value& value, Test&& test) {
  std::unordered_set<const Object*> seen;  // shared objects
  std::vector<const Value*> work{&value};
  while (!work.empty()) {
    const Value& v = *work.back();
    work.pop_back();
    if (!parts::has_parts(v)) {
      if (test(v)) return true;
    } else if (v.unique() || seen.insert(&v.as<Object>()).second) {
      for (size_t i = 0; i < parts::count(v); ++i) work.push_back(&parts::at(v, i));
    }
  }
  return false;
}

/// Returns how many values a walk would visit that visits shared parts wherever they occur: each leaf counts as
/// weigh(leaf), a container as one more than its parts. Visits shared parts once. Counts no further than 2^50, and
/// what is nested more than `max_depth` deep as one.
template <class Weigh> class OccurrenceCounter {
 public:
  OccurrenceCounter(int max_depth, Weigh weigh) : max_depth_(max_depth), weigh_(std::move(weigh)) {}

  uint64_t count(const Value& v, int depth = 0) {
    if (!parts::has_parts(v)) return weigh_(v);
    if (depth > max_depth_) return 1;
    if (!v.unique()) {
      const auto known = counts_.find(&v.as<Object>());
      if (known != counts_.end()) return known->second;
    }
    uint64_t total = 1;
    for (size_t i = 0; i < parts::count(v); ++i) total = std::min(total + count(parts::at(v, i), depth + 1), kTooMany);
    if (!v.unique()) counts_.emplace(&v.as<Object>(), total);
    return total;
  }

 private:
  static constexpr uint64_t kTooMany = uint64_t{1} << 50;  // a sum of several does not wrap around

  const int max_depth_;
  Weigh weigh_;
  std::unordered_map<const Object*, uint64_t> counts_;  // of shared values
};

/// Fails if a value is too large to be walked with its shared parts wherever they occur. `action`: "cannot print it".
void limit_occurrences(const Value& v, std::string_view action);

}  // namespace tsl
