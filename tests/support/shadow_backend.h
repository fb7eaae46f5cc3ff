// A backend that computes on the CPU, and collects the CUDA kernels that a GPU would need.
#pragma once

#ifdef TSL_HAS_CUDA

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend/cuda/driver/nvrtc.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "exec/backend.h"

namespace tsl {

/// Distinct kernels, in the order in which they were added. Thread-safe.
class KernelCorpus {
 public:
  /// Adds all kernels of the plan, with and without vectorized accesses.
  void add(const graph::Plan& plan);
  const std::vector<cuda::KernelSource>& kernels() const { return kernels_; }

 private:
  void add(const cuda::CudaKernel& cuda_kernel);

  std::mutex mutex_;
  std::unordered_set<std::string> sources_;  // they contain the names
  std::vector<cuda::KernelSource> kernels_;
};

/// `host` and `corpus` must outlive it.
std::unique_ptr<exec::Backend> make_shadow_backend(exec::Backend& host, KernelCorpus& corpus);

}  // namespace tsl

#endif
