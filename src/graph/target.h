// The compiler's interface to the device that will run a plan.
#pragma once

#include "graph/kernel.h"
#include "tensor/limits.h"

namespace tsl::graph {

/// What work costs on a device, relative to each other. The compiler decides by it whether a value is computed again or
/// written to memory; it changes no bits.
struct Rates {
  double operations_per_byte = 1.5;        // cheap operations (an f32 addition) in the time in which a byte is moved
  double bytes_per_launch = 32 << 10;      // moved in the time of a launch
  double operations_per_row = 32;          // to fold the lanes of a short row of floats
  int64_t resident_row = kMaxResidentRow;  // PlanOptions::resident_row
};

class Target {
 public:
  virtual ~Target() = default;
  /// Whether the device computes `product`, a matmul with an epilogue, in one call.
  virtual bool has_epilogue(const Node& product) = 0;
  virtual Rates rates() const { return {}; }
  /// Whether a pointwise kernel computes each of a few parts (kMostBranches) only where it holds.
  virtual bool branches_by_part() const { return false; }
  /// The most bytes of a tensor.
  virtual int64_t tensor_limit() const { return memory_limit(); }
};

}  // namespace tsl::graph
