// The rows of the CPU's table of kernels for ops that are never fused, by library: a file each.
#pragma once

#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/threads.h"
#include "exec/op_kernel.h"

namespace tsl::cpu {

/// What rows are made from, which must outlive them.
struct LibraryContext {
  ThreadPool& pool;
  const KernelTable& table;
};

/// Products of floats, in tiles by kernels of TSL's own, and by OpenBLAS.
std::vector<exec::KernelRow> products_rows(const LibraryContext& context);
/// Factorisations and triangular systems of f32 and f64, by the LAPACK that OpenBLAS holds.
std::vector<exec::KernelRow> lapack_rows(const LibraryContext& context);
/// Convolutions and their gradients, by kernels of TSL's own.
std::vector<exec::KernelRow> convolutions_rows(const LibraryContext& context);
/// Attention, by products of OpenBLAS and kernels of TSL's own.
std::vector<exec::KernelRow> attention_rows(const LibraryContext& context);
/// Fourier transforms of f32 and f64, by kernels of the table.
std::vector<exec::KernelRow> fft_rows(const LibraryContext& context);

/// All rows, in the order in which they are asked.
inline constexpr std::vector<exec::KernelRow> (*kKernelRows[])(const LibraryContext&) = {
    products_rows, lapack_rows, convolutions_rows, attention_rows, fft_rows};

}  // namespace tsl::cpu
