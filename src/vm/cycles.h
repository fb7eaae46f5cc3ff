// Collects cycles of closures and of code. Reference counts cannot free a closure that captures itself, and code whose
// variables hold its functions. Every cycle passes through a closure or code; all closures are linked in a ring.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bytecode/code.h"
#include "value/value.h"

namespace tsl {

class RegionHooks;

/// Moves the variables of modules that code uses out of it.
void take_globals(Code& code, std::vector<Ref<Cell>>& to);

/// Owns no values. One per interpreter; must outlive every closure it tracks.
class CycleCollector {
 public:
  CycleCollector() {
    ring_.previous = ring_.next = &ring_;
    ring_.retain();
  }
  ~CycleCollector();
  CycleCollector(const CycleCollector&) = delete;
  CycleCollector& operator=(const CycleCollector&) = delete;

  /// Adds a new closure. Must be called for every closure that has captures.
  void track(Function& closure);
  /// Whether enough closures have been made since the last collection to pay for another.
  bool is_due() const { return count_ >= next_collection_; }
  /// Frees closures that only other closures of a cycle refer to. Returns their number.
  size_t collect();
  /// As collect(), and removes code from `all`, which holds all of it, if only closures and code that go with it refer
  /// to it. Returns that code, whose regions it has forgotten. Gives up beyond `most` work, which it adds to `work`.
  std::vector<Ref<Code>> collect(std::vector<Ref<Code>>& all, RegionHooks& regions, uint64_t most, uint64_t& work);
  size_t tracked() const { return count_; }

 private:
  size_t free_closures(const std::function<bool(const Function*)>& is_live);

  static constexpr size_t kFirstCollection = 10'000;

  Function ring_;     // the anchor of the ring, not a closure
  size_t count_ = 0;  // closures in the ring after the last collection, plus those tracked since
  size_t next_collection_ = kFirstCollection;
};

}  // namespace tsl
