// Tests that need a GPU, in builds with and without the CUDA backend.
#pragma once

#ifdef TSL_HAS_CUDA

#include "backend/cuda/driver/device.h"
#include "support/gpu.h"

#else

#include "catch.h"
#include "catch/skip.h"

#define TSL_NEEDS_GPU() TSL_SKIP("this build has no CUDA backend")

namespace tsl::cuda {
struct Device {};
}  // namespace tsl::cuda

#endif
