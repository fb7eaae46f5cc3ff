// Ops that neither a library nor a generated kernel runs here: the host runs them (factorisations where the library is
// missing; sort of, and scatter into, more than 2^31 elements).
#pragma once

#include <cstddef>
#include <span>

#include "backend/cuda/driver/gpu.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// Runs node `kernel.op_node` on buffers at `addresses` (by buffer of the plan). Allocates memory while it runs.
exec::RunError run_on_host(Gpu& gpu, const graph::Plan& plan, const graph::Kernel& kernel, std::byte* const* addresses,
                           std::span<const Scalar> symbols);

}  // namespace tsl::cuda
