// The generators of fused kernels, one for each way to run a group of ops (graph::Template).
#pragma once

#include "backend/cuda/codegen/stage.h"

namespace tsl::cuda {

KernelProgram generate_pointwise(const graph::Kernel& kernel, const graph::Plan& plan, bool wide);
/// The loop along which operands of a pointwise kernel lie that do not lie along the innermost one; -1: there are none.
int crossing_loop(const graph::Kernel& kernel);
/// `across`: the loop along which some operands lie, as crossing_loop() says.
KernelProgram generate_transpose(const graph::Kernel& kernel, const graph::Plan& plan, int across);
KernelProgram generate_rows(const graph::Kernel& kernel, const graph::Plan& plan, bool wide);
KernelProgram generate_reduce(const graph::Kernel& kernel, const graph::Plan& plan, bool wide);

}  // namespace tsl::cuda
