// Chooses the generator for each kernel of a plan. Needs no device, so tests can inspect the code without one.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/codegen/launch_parameters.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// Whether generate() supports the kernel. It supports all but float matrix products, which a library computes, and ops
/// whose sizes exceed 32-bit counters, which run on the host.
bool has_generated_kernels(const graph::Kernel& kernel, const graph::Plan& plan);

/// Writes the CUDA kernels for one kernel of the plan; has_generated_kernels() must hold. `vectorized`: the buffers are
/// aligned for vectorized accesses.
GeneratedKernels generate(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized,
                          const LaunchParameters& parameters = {});

/// Whether the launch is a single op that has no generated kernels.
bool is_op(const graph::Plan& plan, const std::vector<uint32_t>& launch);

/// Generates the CUDA kernels of one launch; the vectorized and the scalar version have equally many. Kernels of a
/// multi-tensor launch are independent, and those of equal source are merged into one.
GeneratedKernels generate_launch(const graph::Plan& plan, const std::vector<uint32_t>& launch, bool vectorized,
                                 const LaunchParameters& parameters = {});

}  // namespace tsl::cuda
