// Collects cycles of closures. Reference counts cannot free a closure that captures itself. Every cycle passes through
// a closure, and all closures are linked in a ring.
#pragma once

#include "value/value.h"

namespace tsl {

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
  size_t tracked() const { return count_; }

 private:
  static constexpr size_t kFirstCollection = 10'000;

  Function ring_;     // the anchor of the ring, not a closure
  size_t count_ = 0;  // closures in the ring after the last collection, plus those tracked since
  size_t next_collection_ = kFirstCollection;
};

}  // namespace tsl
