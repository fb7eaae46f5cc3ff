// The code of short texts that a host program runs again and again: such a text is compiled once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/code.h"
#include "tensor/dtype.h"

namespace tsl {

class EntryCache {
 public:
  /// What a text means, beside the variables that are visible: another name stands in messages.
  struct Key {
    std::string_view name, text;
    DType reals;
  };

  /// Returns the code of a text; null if it is not kept.
  Ref<Code> find(const Key& key) const;
  /// Whether the code of a text is to be kept: it is short, and has been asked for before.
  bool is_repeated(const Key& key);
  /// Keeps the code of a text. Returns the code that has to make room; null if none has.
  Ref<Code> add(const Key& key, Ref<Code> code);
  /// Returns all code, and forgets it.
  std::vector<Ref<Code>> take();

 private:
  struct Entry {
    std::string name, text;
    DType reals;
    Ref<Code> code;
  };

  std::vector<Entry> entries_;  // the oldest first
  std::vector<size_t> asked_;   // hashes of texts, the oldest first
};

}  // namespace tsl
