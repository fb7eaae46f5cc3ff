// Tables: one launch for many tensors. Its source grows with the parameters of one tensor, not with their number.
#pragma once

#include <vector>

#include "backend/cuda/codegen/stage.h"

namespace tsl::cuda {

/// One launch of many stages that have the same source and need nothing of each other: a table of their arguments, in
/// which each block finds its own. Numbers that all have in common are parameters of their own.
Stage make_table(const std::vector<const Stage*>& stages);
/// A longer table lies in the device's memory, because a driver takes 0.36 µs to change a KiB of a graph's parameters
/// (an H200 with driver 580: 1.6 µs for 4 KB, 5.9 µs for 16 KB), even if a run changes one number of them. A shorter
/// one is a parameter, because to copy it there takes 5 µs, in runs that change addresses.
inline constexpr size_t kMaxTableParameterWords = 512;

}  // namespace tsl::cuda
