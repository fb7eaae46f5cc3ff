// Counting references cannot free a closure that captures itself. This collector finds such cycles: they always
// pass through a closure, and closures are linked in a ring.
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

  /// To be called for every new closure that has captures.
  void track(Function& closure);
  /// Whether so many closures have come that looking at all of them pays off.
  bool is_due() const { return count_ >= next_collection_; }
  /// Frees closures that only refer to one another. Returns how many there were.
  size_t collect();
  size_t tracked() const { return count_; }

 private:
  static constexpr size_t kFirstCollection = 10'000;

  Function ring_;     // the ring's anchor, not a closure
  size_t count_ = 0;  // closures tracked since the ring was last counted, plus those found then
  size_t next_collection_ = kFirstCollection;
};

}  // namespace tsl
