// Ranges for a profiler that is attached to the process: NVIDIA Nsight Systems, or another one that reads NVTX.
#pragma once

#include "exec/timeline.h"

namespace tsl::cuda {

/// Returns the ranges of NVTX, or null if no profiler is attached, or the build has no header of NVTX.
exec::RangeSink* nvtx_ranges();

}  // namespace tsl::cuda
