// Prepares plans to run on a GPU.
#pragma once

#include <memory>

#include "backend/cuda/driver/gpu.h"
#include "exec/backend.h"

namespace tsl::cuda {

std::unique_ptr<exec::Executable> prepare_plan(Gpu& gpu, graph::Plan plan);

}  // namespace tsl::cuda
