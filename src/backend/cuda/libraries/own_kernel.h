// Kernels of TSL's own that run beside a library's calls: they convert, check and fill.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/cuda/driver/gpu.h"

namespace tsl::cuda {

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
