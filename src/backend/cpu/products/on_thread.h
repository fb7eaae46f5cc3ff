// Products that other kernels compute block by block.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/products/product.h"

namespace tsl::cpu {

/// Computes a product of T, float or double, or adds it to c, on this thread, which needs a ThreadMemory around the
/// call: by tiles, or by BLAS where these do not suit.
template <class T> void multiply_on_thread(const Product& product, const KernelTable& table, bool adds);

}  // namespace tsl::cpu
