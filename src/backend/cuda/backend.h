// A GPU as a backend: its memory, its kernels, and plans run on it.
#pragma once

#include <memory>

#include "graph/plan.h"

namespace tsl::cuda {

/// Opens GPU `ordinal`. Ops that have no kernel for it yet run on `host`, which must outlive the backend and whose
/// memory takes tensors that are read. Belongs to one engine. Throws Failure (device) naming what is missing.
std::unique_ptr<graph::Backend> open_backend(int ordinal, graph::Backend& host);

}  // namespace tsl::cuda
