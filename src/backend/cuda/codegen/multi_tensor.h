// Tables: one launch for many tensors. Its source grows with the parameters of one tensor, not with their number.
#pragma once

#include <vector>

#include "backend/cuda/codegen/cuda_kernel.h"

namespace tsl::cuda {

/// Merges independent kernels of equal source into one multi-tensor kernel: each block finds its arguments in a table.
/// Numbers that all kernels share are parameters.
CudaKernel make_multi_tensor_kernel(const std::vector<const CudaKernel*>& kernels);
/// A longer argument table is in device memory, because a driver takes 0.36 µs to change a KiB of a graph's parameters
/// (an H200 with driver 580: 1.6 µs for 4 KB, 5.9 µs for 16 KB), even if a run changes one number of them. A shorter
/// one is a parameter, because to copy it there takes 5 µs, in runs that change addresses.
inline constexpr size_t kMaxArgTableParameterWords = 512;

}  // namespace tsl::cuda
