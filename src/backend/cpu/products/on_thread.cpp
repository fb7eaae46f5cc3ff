#include "backend/cpu/products/on_thread.h"

#include <algorithm>

#include "backend/cpu/products/tile_products.h"
#if defined(TSL_OPENBLAS)
#include "backend/cpu/products/blas.h"
#endif

namespace tsl::cpu {

namespace {

#if defined(TSL_OPENBLAS)
template <class T> void multiply_by_call(const Product& p, bool adds) {
  const auto extent = [](int64_t x) { return static_cast<int>(std::max<int64_t>(x, 1)); };
  const auto as = [](const Matrix& matrix) { return matrix.transposed ? CblasTrans : CblasNoTrans; };
  gemm(as(p.a), as(p.b), static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k),
       reinterpret_cast<const T*>(p.a.data), extent(p.a.stride), reinterpret_cast<const T*>(p.b.data),
       extent(p.b.stride), T(adds), reinterpret_cast<T*>(p.c), extent(p.n));
}
#endif

}  // namespace

template <class T> void multiply_on_thread(const Product& p, const KernelTable& table, bool adds) {
#if defined(TSL_OPENBLAS)
  if (!tiles_refusal(p.m, p.n, table).empty()) return multiply_by_call<T>(p, adds);
#endif
  multiply_tiles<T>(p, tile_kernels<T>(table), adds);
}

template void multiply_on_thread<float>(const Product&, const KernelTable&, bool);
template void multiply_on_thread<double>(const Product&, const KernelTable&, bool);

}  // namespace tsl::cpu
