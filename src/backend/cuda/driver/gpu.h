// The state that all plans on one GPU share.
#pragma once

#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/error_report.h"
#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/driver/memory.h"
#include "backend/cuda/driver/work_log.h"
#include "exec/backend.h"
#include "exec/backend_options.h"
#include "exec/op_kernel.h"

namespace tsl::cuda {

/// A GPU as one engine uses it.
struct Gpu {
  Gpu(int ordinal, exec::Backend& host, const exec::BackendOptions& options);
  /// Waits for all launches: they use modules and host memory that are about to be destroyed.
  ~Gpu();

  exec::Backend& host;
  const exec::BackendOptions options;
  const exec::Backend* owner = nullptr;  // the backend whose timeline is followed; null: none
  Device device;
  const DeviceFacts facts = facts_of(device.properties(), options.tf32);
  WorkLog log;
  DeviceAllocator allocator;
  KernelCache kernels;
  LaunchChoices choices;
  ErrorReport errors;

  /// Returns the timeline to record for, or null. Called where work begins, since the timeline may change between runs.
  exec::Timeline* timeline() {
    if (owner) log.follow(owner->timeline());
    return log.timeline();
  }

  /// A workspace for libraries, which keeps its address. Calls that may run at the same time need different ones.
  static constexpr uint32_t kWorkspaces = 2;
  static constexpr uint64_t kWorkspaceBytes = uint64_t{33} << 20;  // for a product with a bias
  CUdeviceptr workspace(uint32_t which);

  exec::KernelRows rows;  // asked before kernels are generated

 private:
  Ref<Storage> workspaces_[kWorkspaces];
};

}  // namespace tsl::cuda
