// How GPUs of several ranks are linked.
#pragma once

#include <memory>
#include <string>

#include "backend/cuda/driver/gpu.h"
#include "world/rank_link.h"

namespace tsl::cuda {

/// Links the GPU with those of the other ranks, whose processes call it, too: within a host over peer memory, else by
/// NCCL. Returns null on all ranks if neither can be used, and why, in `missing`. For measurements and tests,
/// TSL_RANK_LINK in the environment (peer, nccl, host) names the only one that may be used.
std::unique_ptr<world::RankLink> link_ranks(Gpu& gpu, world::Ranks& ranks, std::string& missing);

}  // namespace tsl::cuda
