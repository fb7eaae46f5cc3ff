// Matrix products: BLAS for floats, loops for integers.
#pragma once

#include "backend/cpu/op_kernels.h"

namespace tsl::cpu {

void run_matmul(OpRun& run);

}  // namespace tsl::cpu
