// Plans on a GPU: what they share, and how one is made ready.
#pragma once

#include <memory>

#include "backend/cuda/backend.h"
#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/error_report.h"
#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/driver/matmul.h"
#include "backend/cuda/driver/memory.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// One engine's GPU.
struct Gpu {
  Gpu(int ordinal, graph::Backend& host, const BackendOptions& options);
  /// Waits for all that was launched: it uses what goes now, modules and the host's memory among it.
  ~Gpu();

  graph::Backend& host;
  const BackendOptions options;
  Device device;
  DeviceAllocator allocator;
  KernelCache kernels;
  ErrorReport errors;

  /// Opened by the first product.
  Matmul& matmul();

 private:
  std::unique_ptr<Matmul> matmul_;
};

std::unique_ptr<graph::Executable> prepare_plan(Gpu& gpu, graph::Plan plan);

/// Copies with the same layout; a tensor that is there already is given back. The host's copy is in its allocator's
/// memory.
Tensor move_to_device(Gpu& gpu, const Tensor& host);
Tensor move_to_host(Gpu& gpu, const Tensor& tensor);
/// From one GPU to another, without the host in between where the hardware can. Returns at once.
Tensor move_between(Gpu& from, Gpu& to, const Tensor& tensor);

/// Runs node `kernel.op_node`, an op that is not generated and is no product as its operands lie, on buffers at
/// `addresses` (by buffer of the plan). Takes memory on the way.
graph::RunError run_op(Gpu& gpu, const graph::Plan& plan, const graph::Kernel& kernel, std::byte* const* addresses,
                       std::span<const Scalar> symbols);

}  // namespace tsl::cuda
