// The rows of the CPU's table of kernels for ops that are never fused: a file for each family.
#pragma once

#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/threads.h"
#include "exec/op_kernel.h"

namespace tsl::cpu {

/// What rows are made from, which must outlive them.
struct RowContext {
  ThreadPool& pool;
  const KernelTable& table;
};

/// Products of floats, in tiles by kernels of TSL's own, and by OpenBLAS.
std::vector<exec::KernelRow> products_rows(const RowContext& context);
/// Factorisations and triangular systems of f32 and f64, by the LAPACK that OpenBLAS holds.
std::vector<exec::KernelRow> lapack_rows(const RowContext& context);
/// Convolutions and their gradients, by kernels of TSL's own.
std::vector<exec::KernelRow> convolutions_rows(const RowContext& context);
/// Attention, by products of OpenBLAS and kernels of TSL's own.
std::vector<exec::KernelRow> attention_rows(const RowContext& context);
/// Fourier transforms of f32 and f64, by kernels of the table.
std::vector<exec::KernelRow> fft_rows(const RowContext& context);

/// All rows, in the order in which they are asked.
inline constexpr std::vector<exec::KernelRow> (*kKernelRows[])(const RowContext&) = {
    products_rows, lapack_rows, convolutions_rows, attention_rows, fft_rows};

}  // namespace tsl::cpu
