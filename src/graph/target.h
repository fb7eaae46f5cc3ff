// What the compiler asks about the device that will run a plan.
#pragma once

#include "graph/graph.h"

namespace tsl::graph {

class Target {
 public:
  virtual ~Target() = default;
  /// Whether one call computes `product`, a matmul with an epilogue.
  virtual bool has_epilogue(const Node& product) = 0;
};

}  // namespace tsl::graph
