// Links the GPUs of one host by kernels of TSL's own, which write to each other's memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/ranks/peer_arguments.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "world/rank_link.h"

namespace tsl::cuda {

/// Return the kernels, whose only arguments are peers::Arguments and peers::SumArguments. `dtype`: its name.
CudaKernel peer_exchange_kernel();
CudaKernel peer_sum_kernel(std::string_view dtype);
/// The text in front of them.
std::string_view peer_exchange_templates();

/// Links the GPU with those of the other ranks, whose processes call it, too. Returns null on all ranks if they are not
/// on one host, or cannot reach each other's memory, and why, in `missing`.
std::unique_ptr<world::RankLink> link_by_memory(Gpu& gpu, world::Ranks& ranks, std::string& missing);

}  // namespace tsl::cuda
