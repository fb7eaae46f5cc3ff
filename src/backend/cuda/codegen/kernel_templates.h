// The generators of fused kernels, one for each template (graph::Template).
#pragma once

#include "backend/cuda/codegen/launch_parameters.h"
#include "backend/cuda/source/cuda_kernel.h"

namespace tsl::cuda {

GeneratedKernels generate_pointwise(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                    const LaunchParameters& parameters);
/// Returns the loop along which some operands of a pointwise kernel are contiguous although others are contiguous along
/// the innermost one, as in a transpose; -1 if there is none.
int crossing_loop(const graph::Kernel& kernel);
/// Generates a tiled transpose. `across` is the result of crossing_loop().
GeneratedKernels generate_transpose(const graph::Kernel& kernel, const graph::Plan& plan, int across, bool vectorized,
                                    const LaunchParameters& parameters);
/// Returns the elements along each loop that a block takes of a pointwise kernel which reads an operand across many
/// short loops; none if it does not, or squares of a transpose serve it.
std::vector<int64_t> permuted_tile(const graph::Kernel& kernel, const graph::Plan& plan);
/// Generates such a kernel. `tile` is the result of permuted_tile().
GeneratedKernels generate_permute(const graph::Kernel& kernel, const graph::Plan& plan,
                                  const std::vector<int64_t>& tile, bool vectorized);
GeneratedKernels generate_rows(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized,
                               const LaunchParameters& parameters);

}  // namespace tsl::cuda
