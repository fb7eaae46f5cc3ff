// What all plans on one GPU share.
#pragma once

#include <memory>

#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/error_report.h"
#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/driver/matmul.h"
#include "backend/cuda/driver/memory.h"
#include "exec/backend.h"
#include "exec/backend_options.h"

namespace tsl::cuda {

/// One engine's GPU.
struct Gpu {
  Gpu(int ordinal, exec::Backend& host, const exec::BackendOptions& options);
  /// Waits for all that was launched: it uses what goes now, modules and the host's memory among it.
  ~Gpu();

  exec::Backend& host;
  const exec::BackendOptions options;
  Device device;
  DeviceAllocator allocator;
  KernelCache kernels;
  ErrorReport errors;

  /// Opened by the first product.
  Matmul& matmul();

 private:
  std::unique_ptr<Matmul> matmul_;
};

}  // namespace tsl::cuda
