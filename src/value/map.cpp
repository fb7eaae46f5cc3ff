#include "value/map.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>

#include "base/count_work.h"
#include "base/long_text.h"
#include "base/number_text.h"
#include "base/seeded_hash.h"
#include "value/format.h"
#include "value/utf8.h"

namespace tsl {

namespace {

constexpr size_t kMinSlots = 8;
constexpr size_t kShortText = 64;   // is compared without a poll
constexpr size_t kMinRemoved = 16;  // fewer removed keys are not worth a new list of keys
constexpr size_t kMostRemoved = 3;  // for each key that is there

/// Whether a float is equal to an int of 64 bits.
bool is_whole(double number) {
  constexpr double kLimit = 9223372036854775808.0;
  return number >= -kLimit && number < kLimit && static_cast<double>(static_cast<int64_t>(number)) == number;
}

int64_t whole_of(const Value& number) {
  if (number.is(Tag::boolean)) return number.boolean();
  return number.is(Tag::integer) ? number.integer() : static_cast<int64_t>(number.real());
}

bool is_number_key(const Value& key) { return key.is_number() || key.is(Tag::boolean); }

uint64_t hash_number(const Value& key) {
  if (key.is(Tag::real) && !is_whole(key.real())) return seeded_hash(std::bit_cast<uint64_t>(key.real()));
  return seeded_hash(static_cast<uint64_t>(whole_of(key)));
}

uint64_t hash_key(const Value& key) {
  if (is_number_key(key)) return hash_number(key);
  uint64_t hash = static_cast<uint64_t>(key.tag());
  const auto add = [&](uint64_t part) { hash = seeded_hash(hash + 0x9e3779b97f4a7c15ull + part); };
  if (key.is(Tag::string)) { return key.as<String>().hash(); }
  if (key.is(Tag::dtype)) add(static_cast<uint64_t>(key.dtype()));
  if (key.is(Tag::range)) {
    add(hash_number(key.as<Range>().begin));
    add(hash_number(key.as<Range>().end));
  }
  if (key.is(Tag::tuple)) {
    const std::vector<Value>& items = key.as<Tuple>().items;
    polled_each(items.size(), 8, [&](size_t i) { add(hash_key(items[i])); });
  }
  return hash;
}

bool same_numbers(const Value& a, const Value& b) {
  if (a.is(Tag::real) && b.is(Tag::real)) return a.real() == b.real();
  const bool are_whole = (!a.is(Tag::real) || is_whole(a.real())) && (!b.is(Tag::real) || is_whole(b.real()));
  return are_whole && whole_of(a) == whole_of(b);
}

/// Whether two keys are the same. `is_strict`: in their types and signs, too.
bool same_keys(const Value& a, const Value& b, bool is_strict) {
  if (is_number_key(a) && is_number_key(b) && !is_strict) return same_numbers(a, b);
  if (a.tag() != b.tag()) return false;
  if (a.is(Tag::string)) {
    if (identical(a, b)) return true;
    const std::string &x = a.as<String>().text, &y = b.as<String>().text;
    return x.size() == y.size() && (x.size() <= kShortText ? x == y : equal_texts(x, y));
  }
  if (a.is(Tag::range)) {
    return identical(a.as<Range>().begin, b.as<Range>().begin) && identical(a.as<Range>().end, b.as<Range>().end);
  }
  if (!a.is(Tag::tuple) || identical(a, b)) return identical(a, b);
  const std::vector<Value>&x = a.as<Tuple>().items, &y = b.as<Tuple>().items;
  count_work(static_cast<int64_t>(8 * x.size()));
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [=](const Value& u, const Value& v) { return same_keys(u, v, is_strict); });
}

}  // namespace

uint32_t MapKeys::hash_of(const Value& key) {
  const bool is_int = key.is(Tag::integer);
  return static_cast<uint32_t>(is_int ? seeded_hash(static_cast<uint64_t>(key.integer())) : hash_key(key));
}

bool identical_keys(const Value& a, const Value& b) { return same_keys(a, b, true); }

// ---- Keys ----------------------------------------------------------------------------------------------

size_t MapKeys::slot_of(const Value& key, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  const auto is_other = [&](const Slot& slot) {
    if (slot.hash != hash) return true;
    const Value& there = keys_[slot.number - 1];
    const bool are_ints = there.is(Tag::integer) && key.is(Tag::integer);
    return are_ints ? there.integer() != key.integer() : !same_keys(there, key, false);
  };
  // bounded: half of the slots are empty, and no program can choose where its keys are
  while (slots_[at].number != 0 && is_other(slots_[at])) at = (at + 1) & mask;
  return at;
}

size_t MapKeys::find(const Value& key, uint32_t hash) const {
  if (slots_.empty()) return kNone;
  const Slot& slot = slots_[slot_of(key, hash)];
  return slot.number == 0 ? kNone : slot.number - 1;
}

std::vector<uint32_t> MapKeys::hashes() const {
  std::vector<uint32_t> hashes(keys_.size());
  polled_each(slots_.size(), 4, [&](size_t i) {
    if (slots_[i].number != 0) hashes[slots_[i].number - 1] = slots_[i].hash;
  });
  return hashes;
}

void MapKeys::reserve(size_t count) {
  if (3 * count <= 2 * slots_.size()) return;
  const size_t size = std::max(kMinSlots, std::bit_ceil(3 * count / 2 + 1));
  require_host_bytes(size * sizeof(Slot));
  std::vector<Slot> slots(size);
  const size_t mask = slots.size() - 1;
  polled_each(slots_.size(), 4, [&](size_t i) {
    if (slots_[i].number == 0) return;
    size_t at = slots_[i].hash & mask;
    while (slots[at].number != 0) at = (at + 1) & mask;
    slots[at] = slots_[i];
  });
  slots_ = std::move(slots);
  count_bytes();
}

void MapKeys::count_bytes() {
  bytes_.set(sizeof *this + keys_.capacity() * sizeof(Value) + slots_.size() * sizeof(Slot));
}

void MapKeys::append(Value key, uint32_t hash) {
  if (3 * (keys_.size() + 1) > 2 * slots_.size()) reserve(keys_.size() + 1);
  const bool has_grown = reserve_counted(keys_, 1);
  slots_[slot_of(key, hash)] = {static_cast<uint32_t>(keys_.size() + 1), hash};
  keys_.push_back(std::move(key));
  if (has_grown) count_bytes();
}

bool MapKeys::are_identical(const MapKeys& others) const {
  if (this == &others) return true;
  count_work(static_cast<int64_t>(4 * keys_.size()));
  return std::equal(keys_.begin(), keys_.end(), others.keys_.begin(), others.keys_.end(),
                    [](const Value& a, const Value& b) { return same_keys(a, b, true); });
}

// ---- Maps ----------------------------------------------------------------------------------------------

const Value* Map::find_own(const Value& key) const {
  const size_t at = keys->find(key);
  return at == MapKeys::kNone || values[at].is(Tag::absent) ? nullptr : &values[at];
}

const Value* Map::find(const Value& key) const {
  const Value* const own = find_own(key);
  if (own || !input || (dropped && dropped->find(key) != MapKeys::kNone)) return own;
  return input->find(key);
}

bool Map::has(const Value& key) const {
  if (find_own(key)) return true;
  return input && !(dropped && dropped->find(key) != MapKeys::kNone) && input->has(key);
}

Value* Map::find_to_change(const Value& key) {
  if (input && !find_own(key)) {
    const Value* const found = find(key);
    if (!found) return nullptr;
    set(key, Value(*found));
  }
  return const_cast<Value*>(find_own(key));
}

Dim Map::length() const {
  if (!input) return static_cast<int64_t>(size());
  int64_t more = 0;
  polled_each(values.size(), 32, [&](size_t i) {
    const Value& key = keys->all()[i];
    const bool is_dropped = dropped && dropped->find(key) != MapKeys::kNone;
    if (!values[i].is(Tag::absent) && (is_dropped || !input->has(key))) ++more;
  });
  polled_each(dropped ? dropped->all().size() : 0, 32, [&](size_t i) { more -= input->has(dropped->all()[i]); });
  return Dim(input->length) + Dim(more);
}

void Map::set(const Value& key, Value value) {
  const uint32_t hash = MapKeys::hash_of(key);
  const size_t at = keys->find(key, hash);
  if (at != MapKeys::kNone && !values[at].is(Tag::absent)) {
    values[at] = std::move(value);
    return;
  }
  if (!keys.unique()) keys = make_ref<MapKeys>(*keys);
  const bool has_grown = reserve_counted(values, 1);
  values.push_back(std::move(value));
  try {
    keys->append(key, hash);
  } catch (...) {  // an interrupt or a limit
    values.resize(keys->all().size());
    throw;
  }
  if (has_grown) count_bytes();
}

bool Map::remove(const Value& key) {
  auto* const value = const_cast<Value*>(find_own(key));
  if (input) {
    const bool is_dropped = dropped && dropped->find(key) != MapKeys::kNone;
    if (!value && (is_dropped || !input->has(key))) return false;
    if (!dropped) dropped = make_ref<MapKeys>();
    else if (!dropped.unique()) dropped = make_ref<MapKeys>(*dropped);
    if (!is_dropped) dropped->append(key);
  }
  if (!value) return input.get() != nullptr;
  *value = Value::absent();
  if (++removed < kMinRemoved || removed <= kMostRemoved * size()) return true;
  const Ref<Map> rest = compacted();
  keys = rest->keys;
  values = std::move(rest->values);
  removed = 0;
  count_bytes();
  return true;
}

Ref<Map> Map::with_values(std::vector<Value> others) const {
  Ref<Map> map = make_ref<Map>();
  map->keys = keys;
  map->values = std::move(others);
  map->removed = removed;
  map->input = input;
  map->dropped = dropped;
  return map;
}

Ref<Map> Map::compacted() const {
  Ref<Map> rest = make_ref<Map>();
  rest->values.reserve(size());
  rest->keys->reserve(size());
  const std::vector<uint32_t> hashes = keys->hashes();
  polled_each(values.size(), 32, [&](size_t i) {
    if (values[i].is(Tag::absent)) return;
    rest->keys->append(keys->all()[i], hashes[i]);
    rest->values.push_back(values[i]);
  });
  rest->input = input;
  rest->dropped = dropped;
  rest->count_bytes();
  return rest;
}

void Map::change_as(const Map& changes) {
  if (changes.dropped)
    polled_each(changes.dropped->all().size(), 32, [&](size_t i) { remove(changes.dropped->all()[i]); });
  polled_each(changes.values.size(), 32, [&](size_t i) {
    if (!changes.values[i].is(Tag::absent)) set(changes.keys->all()[i], changes.values[i]);
  });
}

void Map::open() {
  const Value all = input->all();
  Value opened = with_changes(all, *this);
  Map& map = unopened_map(opened);
  keys = map.keys;
  values = map.values;
  removed = map.removed;
  input = nullptr;
  dropped = nullptr;
  count_bytes();
}

Map& unique_map(Value& map) {
  if (!map.unique()) {
    map = Value(make_ref<Map>(unopened_map(map)));
    unopened_map(map).count_bytes();
  }
  return unopened_map(map);
}

Value with_changes(const Value& map, const Map& changes) {
  if (changes.size() == 0 && !changes.dropped) return map;
  Value changed = map;  // a second reference, so that the changes are made to a copy
  unique_map(changed).change_as(changes);
  return changed;
}

std::string key_label(const Value& key) {
  constexpr size_t kLongest = 40;
  if (key.is(Tag::string)) {
    const std::string& text = key.as<String>().text;
    const size_t end = utf8_offset(std::string_view(text).substr(0, 4 * kLongest), kLongest);
    return quoted(text.substr(0, end) + (end < text.size() ? "…" : ""));
  }
  if (key.is(Tag::boolean)) return key.boolean() ? "true" : "false";
  if (key.is(Tag::integer)) return std::to_string(key.integer());
  if (key.is(Tag::real)) return number_text(key.real());
  if (key.is(Tag::dtype)) return std::string(name_of(key.dtype()));
  return key.is(Tag::range) ? "…..…" : "(…)";
}

// ---- Entries -------------------------------------------------------------------------------------------

size_t count_entries(const Value& container) {
  return container.is(Tag::map) ? container.as<Map>().size() : container.as<Record>().values.size();
}

bool next_entry(const Value& container, int64_t& state, Value& key, Value& value) {
  auto at = static_cast<size_t>(state);
  const bool is_map = container.is(Tag::map);
  const std::vector<Value>& values = is_map ? container.as<Map>().values : container.as<Record>().values;
  for (; is_map && at < values.size() && values[at].is(Tag::absent); ++at) count_work(1);
  if (at >= values.size()) return false;
  key = is_map ? container.as<Map>().keys->all()[at] : make_string(copy_text(*container.as<Record>().keys->names[at]));
  value = values[at];
  state = static_cast<int64_t>(at + 1);
  return true;
}

}  // namespace tsl
