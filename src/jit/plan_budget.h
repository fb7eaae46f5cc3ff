// Limits the memory of an engine's compiled plans.
#pragma once

#include <cstdint>
#include <vector>

namespace tsl::jit {

class SizedPlans;

/// The memory that the plans of one engine take, about. If it is too much, those that were used least recently are
/// evicted, and compiled again when they are needed.
class PlanBudget {
 public:
  PlanBudget() = default;
  PlanBudget(const PlanBudget&) = delete;
  PlanBudget& operator=(const PlanBudget&) = delete;

  void add(SizedPlans& plans) { all_.push_back(&plans); }
  void remove(SizedPlans& plans);
  /// Returns the time of a use.
  uint64_t use() { return ++now_; }
  /// Counts a plan that is about to be kept, and makes room for it.
  void take(uint64_t bytes);
  void give_back(uint64_t bytes) { bytes_ -= bytes; }
  uint64_t bytes() const { return bytes_; }

  /// Returns about the memory of a plan of so many nodes.
  static uint64_t bytes_of(uint64_t nodes);
  /// Returns the most bytes of plans: less if the engine's host memory is limited.
  static uint64_t limit();

 private:
  std::vector<SizedPlans*> all_;
  uint64_t now_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tsl::jit
