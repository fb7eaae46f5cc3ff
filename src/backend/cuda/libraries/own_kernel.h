// Kernels of TSL's own: those that run an op, and those that run beside a library's calls, which convert, check and
// fill.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/kernels/own_op.h"
#include "exec/op_kernel.h"

namespace tsl::cuda {

/// The kernels that run an op, one after another, all with the same struct.
class OwnLaunches final : public exec::OwnCode {
 public:
  /// Announces the kernels, which are compiled with others that are announced, at the latest when they run.
  OwnLaunches(Gpu& gpu, std::vector<OwnLaunch> launches);
  /// Enqueues the kernels on the device's stream. `arguments` is the struct.
  void enqueue(void* arguments);
  /// Whether the driver has loaded the kernels, so that a launch may be recorded.
  bool has_run() const { return has_run_; }

  std::vector<exec::LoadedKernel> kernels() override;
  std::vector<exec::KernelSource> sources() const override;
  bool replace(const exec::KernelSource& edited) override;

 private:
  void load();
  void reserve_shared(size_t i) const;

  Gpu& gpu_;
  std::vector<OwnLaunch> launches_;
  std::vector<CUfunction> functions_;  // none before they are loaded
  bool has_run_ = false;
};

/// A kernel that handles each of `count` elements in a thread of its own.
class OwnKernel {
 public:
  OwnKernel() = default;
  /// Compiles the kernel. `parameters`: "const f32* in, i64 n", of 8 bytes each; `body`: statements about element `i`.
  OwnKernel(Gpu& gpu, std::string_view name, std::string_view parameters, std::string_view body);

  /// Enqueues the kernel on the device's stream. `arguments` have the types of the parameters.
  template <class... Arguments> void enqueue(const Device& device, int64_t count, Arguments... arguments) const {
    static_assert(((sizeof(Arguments) == 8) && ...));
    void* pointers[] = {&count, &arguments...};
    launch(device, count, pointers);
  }

 private:
  void launch(const Device& device, int64_t count, void** arguments) const;

  CUfunction function_ = nullptr;
};

/// Returns a kernel with the parameters (CUdeviceptr* out, CUdeviceptr first, i64 step): the addresses of matrices that
/// are `step` bytes apart, for functions that take them as an array.
OwnKernel address_kernel(Gpu& gpu);

}  // namespace tsl::cuda
