// From a plan to CUDA: the stages of its launches. Needs no device, so that tests see what would run on one.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/codegen/stage.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// What one launch of a plan becomes: kernels that may run in any order.
struct LaunchStages {
  std::vector<Stage> stages;
  uint64_t scratch_bytes = 0;
  uint64_t arrivals = 0;  // counters, as of KernelProgram
};

/// Whether the launch is of an op that is not generated, and so has no stages.
bool is_op(const graph::Plan& plan, const std::vector<uint32_t>& launch);

/// The stages of one launch of the plan, which is of kernels that are generated: with wide accesses or, for buffers
/// that are not aligned for them, without; equally many of both. Those of equal source share tables.
LaunchStages stages_of(const graph::Plan& plan, const std::vector<uint32_t>& launch, bool wide);

}  // namespace tsl::cuda
