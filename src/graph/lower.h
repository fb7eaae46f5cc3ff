// Lowering: groups become kernels of the kernel IR, over buffers.
#pragma once

#include "graph/fuse.h"
#include "graph/plan.h"

namespace tsl::graph {

/// Fills plan.buffers, plan.kernels and plan.outputs from plan.graph.
void lower(Plan& plan, const Fusion& fusion);

}  // namespace tsl::graph
