// Prepares plans to run on a GPU.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "backend/cuda/codegen/launch_parameters.h"
#include "backend/cuda/driver/gpu.h"
#include "exec/backend.h"

namespace tsl::cuda {

/// `parameters`: for all launches; without, those that are kept for each, or the usual ones. `edited`: programs for
/// kernels, by their names, in place of those that are generated.
std::unique_ptr<exec::Executable> prepare_plan(Gpu& gpu, graph::Plan plan,
                                               const std::optional<LaunchParameters>& parameters = {},
                                               std::span<const exec::KernelSource> edited = {});

}  // namespace tsl::cuda
