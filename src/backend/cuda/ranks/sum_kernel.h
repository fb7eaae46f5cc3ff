// Sums over ranks as nodes of plans.
#pragma once

#include <vector>

#include "exec/op_kernel.h"
#include "world/rank_link.h"

namespace tsl::cuda {

/// Returns the row of a GPU's table of kernels for sums over ranks that its link can record. The link must outlive it.
std::vector<exec::KernelRow> sum_rows(world::RankLink& link);

}  // namespace tsl::cuda
