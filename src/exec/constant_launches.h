// Finds the launches of a plan that compute the same in each run, so that a backend need not repeat them.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/plan.h"

namespace tsl::exec {

/// Launches that read no input and no symbol, and the temporaries that they write.
struct ConstantLaunches {
  std::vector<bool> is_constant;  // per launch
  std::vector<uint32_t> buffers;
  uint64_t bytes = 0;  // of the buffers
};

/// Their results may take `most_bytes`: a plan keeps them as long as it exists.
ConstantLaunches find_constant_launches(const graph::Plan& plan, uint64_t most_bytes);

}  // namespace tsl::exec
