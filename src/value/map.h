// Maps: values by keys of any immutable kind, in the order in which the keys were added.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "value/value.h"

namespace tsl {

/// The keys of a map, which its copies share. A key is a bool, int, float (no NaN), str, dtype, or a tuple or range of
/// such. Keys are the same if `==` says so: 1 and 1.0 are one key.
class MapKeys : public Counted {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  std::span<const Value> all() const { return keys_; }
  /// Returns the position of a key, the last one if it was appended twice; kNone if it is not there.
  size_t find(const Value& key) const;
  /// Appends a key. Throws Failure (limit).
  void append(Value key);
  /// Whether both are the same keys in the same order, told apart as 1 and 1.0 are.
  bool are_identical(const MapKeys& others) const;

 private:
  struct Slot {
    uint32_t number = 0;  // position + 1; 0: empty
    uint32_t hash = 0;
  };

  /// Returns the slot of a key, or the empty one where it belongs.
  size_t slot_of(const Value& key, uint32_t hash) const;
  void make_room();

  std::vector<Value> keys_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  HostBytes bytes_;
};

struct Map : Object {
  static constexpr Tag kTag = Tag::map;
  Ref<MapKeys> keys = make_ref<MapKeys>();
  std::vector<Value> values;  // one for each key; absent where the key was removed
  size_t removed = 0;         // how many are absent
  size_t size() const { return values.size() - removed; }
  Value* find(const Value& key);
  /// Sets the value of a key. A new key is the last one.
  void set(const Value& key, Value value);
  /// Removes a key; returns whether it was there.
  bool remove(const Value& key);
  /// Returns a map with the same keys and other values, absent where these are.
  Ref<Map> with_values(std::vector<Value> others) const;
  /// Returns a copy without the places of removed keys.
  Ref<Map> compacted() const;
  void count_bytes() { Object::count_bytes(sizeof *this + values.capacity() * sizeof(Value)); }
};

/// Returns a key as notes and paths name it, cut if it is long: "\"w1\"", "3", "(…)".
std::string key_label(const Value& key);

/// Whether a value has entries: it is a record or a map.
inline bool has_entries(const Value& v) { return v.is(Tag::record) || v.is(Tag::map); }
/// Returns how many entries a record or a map has.
size_t count_entries(const Value& container);
/// Reads the next entry of a record or a map, and advances `state`, which begins as 0; returns false at the end.
bool next_entry(const Value& container, int64_t& state, Value& key, Value& value);

}  // namespace tsl
