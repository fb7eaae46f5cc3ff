// Owns the code of an engine's texts, and frees it when nothing can run it any more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bytecode/code.h"

namespace tsl {

class CycleCollector;
class RegionHooks;

class CodeStore {
 public:
  CodeStore() = default;
  ~CodeStore();
  CodeStore(const CodeStore&) = delete;
  CodeStore& operator=(const CodeStore&) = delete;

  /// Adds the code of a text, and counts its bytes and those of its source. Throws Failure (limit).
  Ref<Code> add(std::unique_ptr<Proto> main, uint32_t source, uint64_t source_bytes);
  const std::vector<Ref<Code>>& all() const { return all_; }
  /// Frees code that has run, with its regions, unless more than `code` refers to it. Returns whether it did.
  bool release(Ref<Code> code, RegionHooks& regions);
  /// Whether so much code has been added since the last search that another one pays.
  bool is_due() const;
  /// Searches for code that only itself refers to, and frees it, with its regions. Returns the numbers of its sources.
  /// Nothing must be running.
  std::vector<uint32_t> free_unused(CycleCollector& cycles, RegionHooks& regions);

 private:
  std::vector<Ref<Code>> all_;
  uint64_t new_bytes_ = 0;   // since the last search
  uint64_t left_bytes_ = 0;  // after it
  size_t new_codes_ = 0;     // since the last search
  size_t next_codes_ = 0;    // so many pay for another one; 0: kFewest
};

}  // namespace tsl
