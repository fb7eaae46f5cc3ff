// Contracts products under fast numerics: a product and the sum that reads it become one instruction, which does not
// round the product.
#pragma once

#include "graph/kernel.h"

namespace tsl::cuda {

/// Merges each float product with its reader, if a single sum or difference reads it (PlanOptions::fast_numerics).
graph::Kernel contract(graph::Kernel kernel);

}  // namespace tsl::cuda
