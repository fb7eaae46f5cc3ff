#include "support/shadow_backend.h"

#ifdef TSL_HAS_CUDA

#include "backend/cuda/kernels/generate.h"
#include "support/pretend_gpu.h"

namespace tsl {

namespace {

class ShadowBackend : public PretendGpu {
 public:
  ShadowBackend(exec::Backend& host, KernelCorpus& corpus)
      : PretendGpu(Device::of("cuda"), host, false), corpus_(corpus) {}

  std::unique_ptr<exec::Executable> prepare(graph::Plan plan) override {
    corpus_.add(plan);
    return PretendGpu::prepare(std::move(plan));
  }

 private:
  KernelCorpus& corpus_;
};

}  // namespace

void KernelCorpus::add(const graph::Plan& plan) {
  for (const std::vector<uint32_t>& launch : plan.launches) {
    if (cuda::is_op(plan, launch)) continue;
    const cuda::GeneratedKernels vectorized = cuda::generate_launch(plan, launch, true),
                                 scalar = cuda::generate_launch(plan, launch, false);
    const std::lock_guard lock(mutex_);
    for (const cuda::CudaKernel& cuda_kernel : vectorized.kernels) add(cuda_kernel);
    for (const cuda::CudaKernel& cuda_kernel : scalar.kernels) add(cuda_kernel);
  }
}

void KernelCorpus::add(const cuda::CudaKernel& cuda_kernel) {
  if (sources_.insert(cuda_kernel.source()).second) kernels_.push_back({cuda_kernel.name(), cuda_kernel.source()});
}

std::unique_ptr<exec::Backend> make_shadow_backend(exec::Backend& host, KernelCorpus& corpus) {
  return std::make_unique<ShadowBackend>(host, corpus);
}

}  // namespace tsl

#endif
