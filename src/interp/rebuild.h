// Walks over values that hold values. Nothing here recurses, because programs nest as deeply as they like.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interp/value.h"

namespace tsl {

namespace parts {

/// Whether the value holds others that a trace may have to replace. A closure's variables are no parts of it.
inline bool has_parts(const Value& v) {
  switch (v.tag()) {
    case Tag::list: case Tag::tuple: case Tag::record: case Tag::text: return true;
    case Tag::range: return v.as<Range>().begin.is(Tag::symbol) || v.as<Range>().end.is(Tag::symbol);
    default: return false;
  }
}

size_t count(const Value& v);
const Value& at(const Value& v, size_t index);
/// The same kind of value with other parts, one for each of `v`.
Value replaced(const Value& v, std::vector<Value> with);

}  // namespace parts

/// Replaces leaves: `leaf(Value&)` is asked about everything without parts, and about texts after their pieces, and
/// says whether it has put something else there. Values in which nothing changes stay the same objects, and what is
/// shared is looked at once and stays shared. Returns whether anything changed.
template <class Leaf>
bool rebuild(Value& value, Leaf&& leaf) {
  struct Level {
    const Value* from;
    std::vector<Value> changed{};  // all parts, once one is different
    size_t next = 0;
    void put(Value part) {
      if (changed.empty()) {
        changed.reserve(parts::count(*from));
        for (size_t i = 0; i < parts::count(*from); ++i) changed.push_back(parts::at(*from, i));
      }
      changed[next] = std::move(part);
    }
  };
  if (!parts::has_parts(value)) return leaf(value);
  const Value root = value;  // what is walked over stays alive, whatever the leaves do
  std::unordered_map<const Object*, Value> done;  // shared ones
  std::vector<Level> levels{{&root}};
  while (true) {
    Level& level = levels.back();
    if (level.next < parts::count(*level.from)) {
      const Value& part = parts::at(*level.from, level.next);
      if (!parts::has_parts(part)) {
        Value now = part;
        if (leaf(now)) level.put(std::move(now));
        ++level.next;
      } else if (const auto known = part.unique() ? done.end() : done.find(&part.as<Object>()); known != done.end()) {
        if (!identical(known->second, part)) level.put(known->second);
        ++level.next;
      } else {
        levels.push_back({&part});
      }
      continue;
    }
    const Value& from = *level.from;
    Value now = level.changed.empty() ? from : parts::replaced(from, std::move(level.changed));
    if (now.is(Tag::text)) leaf(now);
    levels.pop_back();
    if (levels.empty()) {
      value = std::move(now);
      return !identical(value, root);
    }
    const bool is_new = !identical(now, from);
    if (!from.unique()) done.emplace(&from.as<Object>(), now);
    if (is_new) levels.back().put(std::move(now));
    ++levels.back().next;
  }
}

/// Whether `test` holds for any leaf.
template <class Test>
bool any_leaf(const Value& value, Test&& test) {
  std::unordered_set<const Object*> seen;  // shared ones
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

}  // namespace tsl
