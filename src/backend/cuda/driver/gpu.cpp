#include "backend/cuda/driver/gpu.h"

namespace tsl::cuda {

Gpu::Gpu(int ordinal, exec::Backend& host, const exec::BackendOptions& options)
    : host(host),
      options(options),
      device(ordinal),
      log(device),
      allocator(device, options.memory_limit),
      kernels(device, DiskCache(default_cache_folder()), kernel_options(options), &CompiledKernels::of_process()),
      choices(DiskCache(default_cache_folder()), device.arch(), kernel_options(options)),
      errors(device, allocator) {}

Gpu::~Gpu() { device.driver().cuStreamSynchronize(device.stream()); }  // errors were reported where they happened

CUdeviceptr Gpu::workspace(uint32_t which) {
  Ref<Storage>& workspace = workspaces_[which];
  if (!workspace) workspace = allocator.allocate(kWorkspaceBytes);
  return address_of(workspace->data());
}

}  // namespace tsl::cuda
