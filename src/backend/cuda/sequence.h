// Kernels in order, launched as one CUDA graph. A graph launch costs the host less than a kernel launch does, and between
// runs only what changed is patched: pointers, sizes, numbers.
//
//   built (nothing on the device) → launched one by one, the first time → instantiated, the second time → replayed
//
// The first run does not instantiate, because much of what a program runs, it runs once.
#pragma once

#include <string>
#include <vector>

#include "backend/cuda/codegen/stage.h"
#include "backend/cuda/device.h"

namespace tsl::cuda {

/// A kernel and the parameters of its next launch.
struct KernelCall {
  std::string name;
  CUfunction function = nullptr;
  unsigned grid[2] = {1, 1};
  unsigned block[2] = {1, 1};
  std::vector<uint64_t> values;   // each parameter begins a word of its own
  bool is_table = false;          // all values are one parameter
};

class KernelSequence {
 public:
  explicit KernelSequence(Device& device) : device_(device) {}
  ~KernelSequence();
  KernelSequence(const KernelSequence&) = delete;
  KernelSequence& operator=(const KernelSequence&) = delete;

  /// The calls, in order. Their number and the number of their parameters must not change once launched.
  std::vector<KernelCall>& calls() { return calls_; }
  /// Launches them all on the device's stream.
  void launch();

 private:
  void launch_each();
  void instantiate();
  void patch();

  Device& device_;
  std::vector<KernelCall> calls_;
  std::vector<KernelCall> sent_;         // as the instantiated graph has them
  std::vector<CUgraphNode> nodes_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  bool has_run_ = false;
};

}  // namespace tsl::cuda
