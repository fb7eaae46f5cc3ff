// The compiler's interface to the device that will run a plan.
#pragma once

#include "graph/cost.h"
#include "tensor/limits.h"

namespace tsl::graph {

class Target {
 public:
  virtual ~Target() = default;
  /// Whether the device computes `product`, a matmul with an epilogue, in one call.
  virtual bool has_epilogue(const Node& product) = 0;
  virtual Rates rates() const { return {}; }
  virtual DeviceTraits traits() const { return {}; }
  /// The most bytes of a tensor.
  virtual int64_t tensor_limit() const { return memory_limit(); }
};

}  // namespace tsl::graph
