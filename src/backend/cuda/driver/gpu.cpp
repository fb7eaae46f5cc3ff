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

Matmul& Gpu::matmul() {
  if (!matmul_) matmul_ = std::make_unique<Matmul>(device, allocator);
  return *matmul_;
}

}  // namespace tsl::cuda
