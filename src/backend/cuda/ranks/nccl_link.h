// Links GPUs of one host or of many by NCCL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "world/rank_link.h"

namespace tsl::cuda {

/// Returns the kernel with the parameters (rows, to, how many rows, elements of a row): to = the sum of the rows, in
/// order.
CudaKernel row_sum_kernel(std::string_view dtype);

/// Links the GPU with those of the other ranks, whose processes call it, too. Returns null on all ranks if one has no
/// NCCL or cannot be linked, and why, in `missing`.
std::unique_ptr<world::RankLink> link_by_nccl(Gpu& gpu, world::Ranks& ranks, std::string& missing);

}  // namespace tsl::cuda
