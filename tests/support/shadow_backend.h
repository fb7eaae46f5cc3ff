// A backend that computes on the CPU, and keeps the CUDA kernels that a GPU would have run.
#pragma once

#ifdef TSL_HAS_CUDA

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend/cuda/codegen/cuda_kernel.h"
#include "backend/cuda/driver/nvrtc.h"
#include "exec/backend.h"

namespace tsl {

/// Different kernels, in the order they were added. Several engines may add to it at once.
class KernelCorpus {
 public:
  /// All kernels of the plan, with vectorized accesses and without.
  void add(const graph::Plan& plan);
  const std::vector<cuda::KernelSource>& kernels() const { return kernels_; }

 private:
  void add(const cuda::CudaKernel& cuda_kernel);

  std::mutex mutex_;
  std::unordered_set<std::string> sources_;  // which have the names in them
  std::vector<cuda::KernelSource> kernels_;
};

/// `host` and `corpus` must outlive it.
std::unique_ptr<exec::Backend> make_shadow_backend(exec::Backend& host, KernelCorpus& corpus);

}  // namespace tsl

#endif
