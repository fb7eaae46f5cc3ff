// Interned names: equal names are equal pointers.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace tsl {

/// A name that compares by pointer. Two Names from one Interner are equal iff their texts are.
using Name = const std::string*;

/// Owned by an Engine; Names are valid as long as the Interner exists. Not thread-safe.
class Interner {
 public:
  Name intern(std::string_view text) { return &*names_.emplace(text).first; }

 private:
  std::unordered_set<std::string> names_;  // node-based: addresses are stable
};

}  // namespace tsl
