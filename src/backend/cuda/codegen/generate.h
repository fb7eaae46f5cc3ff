// From the kernels of a plan to CUDA: the one place that chooses a generator for each kernel. Needs no device, so that
// tests see what would run on one.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/codegen/stage.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// Whether generate() writes kernels for it: for all but products of floats, which a library computes, and ops of sizes
/// that 32-bit counters cannot hold, which run on the host.
bool has_generated_kernels(const graph::Kernel& kernel, const graph::Plan& plan);

/// Writes the CUDA kernels for one kernel of the plan, which must have some. `wide`: whether buffers are aligned for
/// wide accesses.
KernelProgram generate(const graph::Kernel& kernel, const graph::Plan& plan, bool wide);

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
