// Ops that are not generated: products whose operands cuBLASLt cannot take as they lie, and the few that run on the
// host, between copies (argsort of, and scatter into, more than 2^31 elements).
#pragma once

#include <cstddef>
#include <span>

#include "backend/cuda/driver/gpu.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// Runs node `kernel.op_node`, an op that is not generated and is no product as its operands lie, on buffers at
/// `addresses` (by buffer of the plan). Takes memory on the way.
exec::RunError run_op(Gpu& gpu, const graph::Plan& plan, const graph::Kernel& kernel, std::byte* const* addresses,
                      std::span<const Scalar> symbols);

}  // namespace tsl::cuda
