// Multi-tensor kernels: one launch for many tensors. The source grows with the parameters of one tensor, not with the
// number of tensors.
#pragma once

#include <vector>

#include "backend/cuda/source/cuda_kernel.h"

namespace tsl::cuda {

/// Merges independent kernels of equal source into one multi-tensor kernel: each block of threads finds its arguments
/// in a table. Numbers that all kernels share are ordinary parameters.
CudaKernel make_multi_tensor_kernel(const std::vector<const CudaKernel*>& kernels);
/// An argument table above this size is in device memory: a driver takes 0.36 µs to change a KiB of a CUDA graph's
/// parameters (H200, driver 580: 1.6 µs for 4 KB, 5.9 µs for 16 KB), even if only one number has changed. A smaller
/// table is a parameter, because copying it to device memory takes 5 µs in each run that changes addresses.
inline constexpr size_t kMaxArgTableParameterWords = 512;

}  // namespace tsl::cuda
