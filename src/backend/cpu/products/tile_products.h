// Products of float matrices by the kernels of the instruction set. An element is a sum of parts of some hundred
// products, each added up in order by fused multiply-adds: a function of its row, its column and their length alone. So
// panels, threads, and how operands lie in memory change no result.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/products/product.h"
#include "backend/cpu/threads.h"

namespace tsl::cpu {

/// Says why BLAS computes a product of m rows and n columns, and not tiles; "": tiles do, as all in a build without
/// BLAS.
std::string_view tiles_refusal(int64_t m, int64_t n, const KernelTable& table);

/// The kernels of T, float or double.
struct TileKernels {
  const ConvKernels& products;
  const FftKernels& planes;  // of which only turn() is used
};
template <class T> TileKernels tile_kernels(const KernelTable& table) {
  if constexpr (sizeof(T) == sizeof(float)) return {table.conv_f32, table.fft[0]};
  else return {table.conv_f64, table.fft[1]};
}

/// Computes a product of T, float or double, on the threads of the pool.
template <class T> void multiply_tiles(const Product& product, const TileKernels& kernels, ThreadPool& pool);
/// Computes a product, or adds it to c part by part, on this thread, which needs a ThreadMemory around the call.
template <class T> void multiply_tiles(const Product& product, const TileKernels& kernels, bool adds);

}  // namespace tsl::cpu
