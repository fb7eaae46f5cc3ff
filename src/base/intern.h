// Interned names: equal names are equal pointers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/run_watch.h"
#include "base/seeded_hash.h"

namespace tsl {

/// A name that compares by pointer. Two Names from one Interner are equal iff their texts are.
using Name = const std::string*;

/// Owned by an Engine. Names from intern(), such as those of code, are valid as long as it exists; others, such as
/// keys that a program makes, while a HeldName holds them. Not thread-safe.
class Interner {
 public:
  Interner() : buckets_(kLeastBuckets) {}
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;
  ~Interner();

  Name intern(std::string_view text) {
    Entry& entry = entry_of(text);
    entry.is_permanent = true;
    return &entry;
  }
  /// Returns a name that exists already; null if there is none.
  Name find(std::string_view text) const { return find(text, seeded_hash(text)); }
  size_t size() const { return size_; }

 private:
  friend class HeldName;
  static constexpr size_t kLeastBuckets = 1024;  // a power of two, as any number of buckets

  /// A node of the table, which stays where it is: names are pointers. Its hash is kept, so that a name is freed
  /// without reading its text.
  struct Entry : std::string {
    Entry(std::string_view text, uint64_t text_hash, Interner& interner)
        : std::string(text), hash(text_hash), owner(&interner) {}
    const uint64_t hash;
    Interner* const owner;
    Entry* next = nullptr;  // in its bucket
    uint32_t holders = 0;
    bool is_permanent = false;
    HostBytes bytes;  // while it is not permanent
  };
  /// All names are entries, which only their Interner made const.
  static Entry& entry_at(Name name) { return *const_cast<Entry*>(static_cast<const Entry*>(name)); }

  Entry*& bucket_of(uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  Entry* find(std::string_view text, uint64_t hash) const {
    Entry* entry = buckets_[hash & (buckets_.size() - 1)];
    while (entry && (entry->hash != hash || std::string_view(*entry) != text)) entry = entry->next;
    return entry;
  }
  Entry& entry_of(std::string_view text) {
    const uint64_t hash = seeded_hash(text);  // with the secret of the process: a file may choose the texts
    Entry* const known = find(text, hash);
    return known ? *known : add(text, hash);
  }
  Entry& add(std::string_view text, uint64_t hash);
  void grow();
  void free(Entry& entry);

  std::vector<Entry*> buckets_;
  size_t size_ = 0;
};

/// Holds a name: one that is not permanent is freed with its last holder.
class HeldName {
 public:
  HeldName() = default;
  HeldName(Name name) : name_(name) { retain(); }
  /// Interns a text that a program has made. Throws Failure (limit).
  HeldName(Interner& names, std::string_view text) {
    const uint64_t hash = seeded_hash(text);
    name_ = names.find(text, hash);
    if (!name_) make(names, text, hash);
    retain();
  }
  HeldName(const HeldName& other) : name_(other.name_) { retain(); }
  HeldName(HeldName&& other) noexcept : name_(std::exchange(other.name_, nullptr)) {}
  HeldName& operator=(HeldName other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  ~HeldName() { release(); }

  operator Name() const { return name_; }
  /// Whether it holds a name of this interner.
  bool is_of(const Interner& names) const { return name_ && Interner::entry_at(name_).owner == &names; }
  const std::string& operator*() const { return *name_; }
  const std::string* operator->() const { return name_; }

 private:
  void make(Interner& names, std::string_view text, uint64_t hash);
  void retain() const {
    if (name_) ++Interner::entry_at(name_).holders;
  }
  void release() {
    if (!name_) return;
    Interner::Entry& entry = Interner::entry_at(name_);
    if (--entry.holders == 0 && !entry.is_permanent) entry.owner->free(entry);
  }

  Name name_ = nullptr;
};

}  // namespace tsl
