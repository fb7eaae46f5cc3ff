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

  /// Returns the hash of a key.
  static uint32_t hash_of(const Value& key);

  std::span<const Value> all() const { return keys_; }
  /// Returns the position of a key, the last one if it was appended twice; kNone if it is not there.
  size_t find(const Value& key) const { return slots_.empty() ? kNone : find(key, hash_of(key)); }
  size_t find(const Value& key, uint32_t hash) const;
  /// Appends a key. Throws Failure (limit).
  void append(Value key) {
    const uint32_t hash = hash_of(key);
    append(std::move(key), hash);
  }
  void append(Value key, uint32_t hash);
  /// Makes room for so many keys in all. An error, which may be an interrupt, leaves all as it was.
  void reserve(size_t count);
  /// Returns the hashes of the keys, by position; 0 for a key that was appended again later.
  std::vector<uint32_t> hashes() const;
  /// Whether both are the same keys in the same order, told apart as 1 and 1.0 are.
  bool are_identical(const MapKeys& others) const;

 private:
  struct Slot {
    uint32_t number = 0;  // position + 1; 0: empty
    uint32_t hash = 0;
  };

  /// Returns the slot of a key, or the empty one where it belongs.
  size_t slot_of(const Value& key, uint32_t hash) const;
  void count_bytes();
  std::vector<Value> keys_;
  std::vector<Slot> slots_;  // a power of two, at most two thirds full
  HostBytes bytes_;
};

struct Map;

/// The entries of a map in a trace that come from an input, while nothing has looked at all of them: the trace depends
/// on those alone that the code asks for.
struct InputEntries : Counted {
  virtual ~InputEntries() = default;
  /// Returns the value of a key, as the code of the trace sees it; null if it is not there.
  virtual const Value* find(const Value& key) = 0;
  /// Whether a key is there. The trace does not depend on its value.
  virtual bool has(const Value& key) = 0;
  /// Returns a map of all entries, as the code of the trace sees them.
  virtual Value all() = 0;

  Value map;                       // of the input; nil where only its number in the run is known
  const Symbol* length = nullptr;  // how many entries it has
};

struct Map : Object {
  static constexpr Tag kTag = Tag::map;
  Ref<MapKeys> keys = make_ref<MapKeys>();
  std::vector<Value> values;  // one for each key; absent where the key was removed
  size_t removed = 0;         // how many are absent
  // Null outside a trace. The entries of the input, without those whose keys were `dropped`; then the entries here are
  // set.
  Ref<InputEntries> input;
  Ref<MapKeys> dropped;

  size_t size() const { return values.size() - removed; }  // without the input's
  /// Returns how many entries there are; a symbol may decide.
  Dim length() const;
  const Value* find(const Value& key) const;
  bool has(const Value& key) const;
  /// Returns the value of a key, to be changed; null if it is not there. The map must be unique.
  Value* find_to_change(const Value& key);
  /// Makes room for so many entries in all.
  void reserve(size_t count) {
    keys->reserve(count);
    values.reserve(count);
    count_bytes();
  }
  /// Sets the value of a key. A new key is the last one.
  void set(const Value& key, Value value);
  /// Removes a key; returns whether it was there.
  bool remove(const Value& key);
  /// Returns a map with the same keys and other values, absent where these are.
  Ref<Map> with_values(std::vector<Value> others) const;
  /// Whether the map is its input's, unchanged.
  bool is_input() const { return input && values.empty() && !dropped; }
  /// Drops and sets what another map does to its input's entries.
  void change_as(const Map& changes);
  /// Adds the entries of the input.
  void open();
  /// Returns a copy without the places of removed keys.
  Ref<Map> compacted() const;
  void count_bytes() { Object::count_bytes(sizeof *this + values.capacity() * sizeof(Value)); }

 private:
  const Value* find_own(const Value& key) const;
};

/// Returns a map without opening it: its keys and values are only those that were set after its input.
inline Map& unopened_map(const Value& map) { return static_cast<Map&>(map.as<Object>()); }

/// Opens the map: what looks at its entries sees all of them.
template <> inline Map& Value::as<Map>() const {
  expect(Tag::map);
  Map& map = unopened_map(*this);
  if (map.input) [[unlikely]]
    map.open();
  return map;
}

/// Returns the payload of a map for a change, after copying it if it is shared. Does not open it.
Map& unique_map(Value& map);

/// Returns a map after the changes that another one makes to its input; the map itself if there are none.
Value with_changes(const Value& map, const Map& changes);

/// Whether two keys are the same, told apart as 1 and 1.0 are.
bool identical_keys(const Value& a, const Value& b);

/// Returns a key as notes and paths name it, cut if it is long: "\"w1\"", "3", "(…)".
std::string key_label(const Value& key);

/// Whether a value has entries: it is a record or a map.
inline bool has_entries(const Value& v) { return v.is(Tag::record) || v.is(Tag::map); }
/// Returns how many entries a record or a map has.
size_t count_entries(const Value& container);
/// Reads the next entry of a record or a map, and advances `state`, which begins as 0; returns false at the end.
bool next_entry(const Value& container, int64_t& state, Value& key, Value& value);

}  // namespace tsl
