#include "bytecode/entry_cache.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tsl {

namespace {

constexpr size_t kLongestText = 256;  // bytes of a text, so that the cache takes little memory
constexpr size_t kMostEntries = 8;
constexpr size_t kMostAsked = 16;

}  // namespace

Ref<Code> EntryCache::find(const Key& key) const {
  for (const Entry& entry : entries_) {
    if (entry.text == key.text && entry.name == key.name && entry.reals == key.reals) return entry.code;
  }
  return {};
}

bool EntryCache::is_repeated(const Key& key) {
  if (key.text.size() > kLongestText) return false;
  const size_t hash = std::hash<std::string_view>()(key.text);
  if (std::find(asked_.begin(), asked_.end(), hash) != asked_.end()) return true;
  if (asked_.size() == kMostAsked) asked_.erase(asked_.begin());
  asked_.push_back(hash);
  return false;
}

Ref<Code> EntryCache::add(const Key& key, Ref<Code> code) {
  Ref<Code> oldest;
  if (entries_.size() == kMostEntries) {
    oldest = std::move(entries_.front().code);
    entries_.erase(entries_.begin());
  }
  entries_.push_back({std::string(key.name), std::string(key.text), key.reals, std::move(code)});
  return oldest;
}

std::vector<Ref<Code>> EntryCache::take() {
  std::vector<Ref<Code>> codes;
  for (Entry& entry : entries_) codes.push_back(std::move(entry.code));
  entries_.clear();
  return codes;
}

}  // namespace tsl
