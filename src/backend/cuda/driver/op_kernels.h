// Ops without generated kernels: products whose operands have layouts that cuBLASLt does not support, and a few ops
// that run on the host (factorisations; sort of, and scatter into, more than 2^31 elements).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "backend/cuda/driver/gpu.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// The plans that copy an op's operands, made in the op's first run.
struct OperandCopies {
  std::unique_ptr<exec::Executable> plans[2];  // per operand; null if it is not copied
};

/// Runs node `kernel.op_node`, which has no generated kernels, on buffers at `addresses` (by buffer of the plan).
/// Allocates memory while it runs.
exec::RunError run_op(Gpu& gpu, const graph::Plan& plan, const graph::Kernel& kernel, std::byte* const* addresses,
                      std::span<const Scalar> symbols, OperandCopies& copies);

}  // namespace tsl::cuda
