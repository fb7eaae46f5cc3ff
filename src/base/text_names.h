// The names of one text.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/intern.h"

namespace tsl {

/// Makes the names of a text, literals included: permanent ones, or such as it holds while it exists.
class TextNames {
 public:
  enum class Lifetime : uint8_t { permanent, held };
  /// `counts_tree`: whether the text's tree counts towards the limit of host memory.
  TextNames(Interner& names, Lifetime lifetime, bool counts_tree = false)
      : names_(names), lifetime_(lifetime), counts_tree_(counts_tree) {}
  TextNames(const TextNames&) = delete;
  TextNames& operator=(const TextNames&) = delete;

  bool counts_tree() const { return counts_tree_; }
  /// Throws Failure (limit) if it holds the name, and there is no memory left for it.
  Name intern(std::string_view text) {
    if (lifetime_ == Lifetime::permanent) return names_.intern(text);
    HeldName name(names_, text);
    if (known_.insert(name).second) held_.push_back(name);
    return name;
  }

 private:
  Interner& names_;
  const Lifetime lifetime_;
  const bool counts_tree_;
  std::unordered_set<Name> known_;
  std::vector<HeldName> held_;
};

}  // namespace tsl
