// From the kernels of a plan to CUDA: the one place that chooses a generator for each kernel. Needs no device, so that
// tests see what would run on one.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/codegen/cuda_kernel.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// Whether generate() writes kernels for it: for all but products of floats, which a library computes, and ops of sizes
/// that 32-bit counters cannot hold, which run on the host.
bool has_generated_kernels(const graph::Kernel& kernel, const graph::Plan& plan);

/// Writes the CUDA kernels for one kernel of the plan, which must have some. `vectorized`: whether buffers are aligned
/// for vectorized accesses.
GeneratedKernels generate(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized);

/// Whether the launch is an op without generated kernels.
bool is_op(const graph::Plan& plan, const std::vector<uint32_t>& launch);

/// Generates the CUDA kernels of one launch, with vectorized accesses or, for buffers that are not aligned for them,
/// without; equally many of both. Those of one kernel of the plan run in order; the kernels of a multi-tensor launch
/// may run in any order, and those of equal source become one.
GeneratedKernels generate_launch(const graph::Plan& plan, const std::vector<uint32_t>& launch, bool vectorized);

}  // namespace tsl::cuda
