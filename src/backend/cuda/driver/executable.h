// Plans made ready for a GPU.
#pragma once

#include <memory>

#include "backend/cuda/driver/gpu.h"
#include "graph/plan.h"

namespace tsl::cuda {

std::unique_ptr<graph::Executable> prepare_plan(Gpu& gpu, graph::Plan plan);

}  // namespace tsl::cuda
