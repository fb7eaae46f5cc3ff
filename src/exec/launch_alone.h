// Takes one launch out of a plan, as a plan of its own that can run alone.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/plan.h"

namespace tsl::exec {

/// A plan of one launch, with the kernels of the whole plan: code generated for it is the same.
struct LaunchAlone {
  graph::Plan plan;
  std::vector<uint32_t> buffers;  // per buffer of `plan`: the one of the whole plan
};

/// Whether a launch may write a part of a tensor only, of which other launches write the rest.
bool writes_parts(const graph::Plan& plan, const std::vector<uint32_t>& launch);

/// What the launch reads becomes an input, and what it writes an output. Operands of its ops that its kernels do not
/// read become inputs, too, since the ops name them. If the launch writes parts, the rest of the outputs is undefined:
/// such a plan breaks the rule that buffers are written in full.
LaunchAlone launch_alone(const graph::Plan& plan, uint32_t launch);

/// Estimates how long data stays in caches, in a plan that runs again and again. The plan must outlive it.
class CacheDistances {
 public:
  explicit CacheDistances(const graph::Plan& plan);
  const graph::Plan& plan() const { return plan_; }
  /// Counts the bytes that other launches touch between the last use of a buffer's memory and a launch that uses it. If
  /// they exceed a cache, the launch does not find the buffer there. Stops above `enough`.
  uint64_t bytes_since_use(uint32_t launch, uint32_t buffer, uint64_t enough = ~uint64_t{0}) const;

 private:
  const graph::Plan& plan_;
  std::vector<uint64_t> bytes_;  // that each launch touches
};

}  // namespace tsl::exec
