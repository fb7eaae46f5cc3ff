// Interned names: equal names are equal pointers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace tsl {

/// A name that compares by pointer. Two Names from one Interner are equal iff their texts are.
using Name = const std::string*;

/// Owned by an Engine; Names are valid as long as the Interner exists. Not thread-safe.
class Interner {
 public:
  Name intern(std::string_view text) {
    const auto known = names_.find(text);  // emplace() would make a node first
    return known != names_.end() ? &*known : &*names_.emplace(text).first;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_set<std::string, Hash, std::equal_to<>> names_;  // node-based: addresses are stable
};

}  // namespace tsl
