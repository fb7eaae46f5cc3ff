#include "support/shadow_backend.h"

#ifdef TSL_HAS_CUDA

#include "backend/cuda/codegen/generate.h"
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
    const cuda::LaunchStages wide = cuda::stages_of(plan, launch, true), narrow = cuda::stages_of(plan, launch, false);
    const std::lock_guard lock(mutex_);
    for (const cuda::Stage& stage : wide.stages) add(stage);
    for (const cuda::Stage& stage : narrow.stages) add(stage);
  }
}

void KernelCorpus::add(const cuda::Stage& stage) {
  if (sources_.insert(stage.source()).second) kernels_.push_back({stage.name(), stage.source()});
}

std::unique_ptr<exec::Backend> make_shadow_backend(exec::Backend& host, KernelCorpus& corpus) {
  return std::make_unique<ShadowBackend>(host, corpus);
}

}  // namespace tsl

#endif
