// Matrix products: of floats by BLAS, of integers by loops.
#pragma once

#include "backend/cpu/op_kernels.h"

namespace tsl::cpu {

void run_matmul(OpRun& run);

}  // namespace tsl::cpu
