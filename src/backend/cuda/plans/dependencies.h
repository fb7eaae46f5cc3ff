// Finds which launches of a plan depend on which, by the memory that they read and write. Independent launches may run
// at the same time, which helps where one does not fill the GPU, such as products of small matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/plan.h"

namespace tsl::cuda {

/// The resources of a launch besides the plan's buffers. Launches that use the same memory run one after the other.
struct LaunchUse {
  bool scratch = false;               // uses the program's scratch memory
  std::optional<uint32_t> workspace;  // the matrix library's workspace, by number
  bool reports = false;               // may report failures; these launches need no order among themselves
  bool needs_success = false;         // runs after all earlier launches that may report
};

/// Returns the use of a launch of generated kernels.
LaunchUse use_of(const graph::Plan& plan, std::span<const uint32_t> kernels);

/// Returns the direct dependencies of each launch, without those that others imply. `uses`: one element per launch.
std::vector<std::vector<uint32_t>> dependencies(const graph::Plan& plan, std::span<const LaunchUse> uses);

/// Replaces dependencies on removed launches by the dependencies of these.
std::vector<std::vector<uint32_t>> without(const std::vector<bool>& is_removed,
                                           std::vector<std::vector<uint32_t>> before);

}  // namespace tsl::cuda
