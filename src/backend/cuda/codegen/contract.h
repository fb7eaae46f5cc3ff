// Fast numerics: a product and the sum that reads it become one instruction, which does not round the product.
#pragma once

#include "graph/kernel.h"

namespace tsl::cuda {

/// The kernel with each product of floats that only one sum or difference reads made part of it
/// (PlanOptions::fast_numerics).
graph::Kernel contract(graph::Kernel kernel);

}  // namespace tsl::cuda
