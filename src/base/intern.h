// Interned names: equal names are equal pointers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/run_watch.h"
#include "base/seeded_hash.h"

namespace tsl {

/// A name that compares by pointer. Two Names from one Interner are equal iff their texts are.
using Name = const std::string*;

/// Owned by an Engine. Names from intern(), such as those of code, are valid as long as it exists; those from hold(),
/// such as keys that a program makes, while a HeldName holds them. Not thread-safe.
class Interner {
 public:
  Name intern(std::string_view text) {
    const Entry& entry = entry_of(text);
    entry.is_permanent = true;
    return &entry;
  }
  /// Returns a name that exists already; null if there is none.
  Name find(std::string_view text) const {
    const auto known = names_.find(text);
    return known == names_.end() ? nullptr : &*known;
  }
  size_t size() const { return names_.size(); }

  /// Hashes names, which a text or a file may choose, with the secret of the process.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return seeded_hash(text); }
  };

 private:
  friend class HeldName;

  struct Entry : std::string {
    Entry(std::string_view text, Interner& interner) : std::string(text), owner(&interner) {}
    Interner* const owner;
    mutable uint32_t holders = 0;
    mutable bool is_permanent = false;
    mutable HostBytes bytes;  // while it is not permanent
  };
  static const Entry& entry_at(Name name) { return *static_cast<const Entry*>(name); }

  const Entry& entry_of(std::string_view text) {
    const auto known = names_.find(text);  // emplace() would make a node first
    return known != names_.end() ? *known : *names_.emplace(text, *this).first;
  }

  std::unordered_set<Entry, Hash, std::equal_to<>> names_;  // node-based: addresses are stable
};

/// Holds a name: one that is not permanent is freed with its last holder.
class HeldName {
 public:
  HeldName() = default;
  HeldName(Name name) : name_(name) { retain(); }
  /// Interns a text that a program has made. Throws Failure (limit).
  HeldName(Interner& names, std::string_view text) : name_(names.find(text)) {
    if (!name_) make(names, text);
    else retain();
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
  void make(Interner& names, std::string_view text);
  void retain() const {
    if (name_) ++Interner::entry_at(name_).holders;
  }
  void release() {
    if (!name_) return;
    const Interner::Entry& entry = Interner::entry_at(name_);
    if (--entry.holders == 0 && !entry.is_permanent) free(entry);
  }
  static void free(const Interner::Entry& entry);

  Name name_ = nullptr;
};

}  // namespace tsl
