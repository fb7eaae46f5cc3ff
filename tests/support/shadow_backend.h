// A backend that computes on the CPU, and keeps the CUDA kernels that a GPU would have run.
#pragma once

#ifdef TSL_HAS_CUDA

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend/cuda/codegen/stage.h"
#include "backend/cuda/driver/nvrtc.h"
#include "graph/plan.h"

namespace tsl {

/// Different kernels, in the order they were added. Several engines may add to it at once.
class KernelCorpus {
 public:
  /// All kernels of the plan, with wide accesses and without.
  void add(const graph::Plan& plan);
  const std::vector<cuda::KernelSource>& kernels() const { return kernels_; }

 private:
  void add(const cuda::Stage& stage);

  std::mutex mutex_;
  std::unordered_set<std::string> sources_;  // which have the names in them
  std::vector<cuda::KernelSource> kernels_;
};

/// `host` and `corpus` must outlive it.
std::unique_ptr<graph::Backend> make_shadow_backend(graph::Backend& host, KernelCorpus& corpus);

}  // namespace tsl

#endif
