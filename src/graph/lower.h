// Lowers groups to kernels of the kernel IR, over buffers.
#pragma once

#include "graph/fuse.h"
#include "graph/plan.h"

namespace tsl::graph {

/// Fills plan.buffers, plan.kernels and plan.outputs from plan.graph. `memory` holds temporary data.
void lower(Plan& plan, const Fusion& fusion, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
