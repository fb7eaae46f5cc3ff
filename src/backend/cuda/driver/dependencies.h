// Which launches of a plan must have run before which: by the memory they read and write. The others may run at the
// same time, where the kernels of one leave a part of the GPU to those of another, as products of small matrices do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/plan.h"

namespace tsl::cuda {

/// What a launch uses besides the plan's buffers. Launches that use the same memory run one after the other.
struct LaunchUse {
  bool scratch = false;               // the program's scratch memory
  std::optional<uint32_t> workspace;  // of the matrix library: which one
  bool reports = false;               // failures; in any order among themselves
  bool needs_success = false;         // runs after all before it that may report
};

/// For each launch the launches that it comes right after; those before them are left out. `uses`: one per launch.
std::vector<std::vector<uint32_t>> dependencies(const graph::Plan& plan, std::span<const LaunchUse> uses);

}  // namespace tsl::cuda
