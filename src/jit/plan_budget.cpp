#include "jit/plan_budget.h"

#include "base/run_watch.h"
#include "jit/sized_plans.h"

namespace tsl::jit {

namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr uint64_t kShareOfLimit = 4;  // plans take a quarter of the limit of host memory beside it
// Measured: chains of 300 matrix products, and of 600 ops that are fused.
constexpr uint64_t kBytesPerNode = 4096;
constexpr uint64_t kBytesPerPlan = 16 << 10;

}  // namespace

void PlanBudget::remove(SizedPlans& plans) { std::erase(all_, &plans); }

void PlanBudget::take(uint64_t bytes) {
  bytes_ += bytes;
  const uint64_t most = limit();
  while (bytes_ > most) {
    SizedPlans* oldest = nullptr;
    for (SizedPlans* plans : all_) {
      if (plans->last_use() > 0 && (!oldest || plans->last_use() < oldest->last_use())) oldest = plans;
    }
    if (!oldest) return;
    oldest->evict_oldest();
  }
}

uint64_t PlanBudget::bytes_of(uint64_t nodes) { return kBytesPerPlan + nodes * kBytesPerNode; }

uint64_t PlanBudget::limit() { return cache_limit(kMostBytes, kShareOfLimit); }

}  // namespace tsl::jit
