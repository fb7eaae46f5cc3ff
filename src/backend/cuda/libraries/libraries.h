// The rows of a GPU's table of kernels for ops that are never fused: those of kernels of TSL's own, and a file for each
// library. What rows are made from must outlive them.
#pragma once

#include <vector>

#include "backend/cuda/driver/gpu.h"
#include "backend/cuda/plans/own_op_kernel.h"
#include "exec/op_kernel.h"

namespace tsl::cuda {

/// Products of floats by cuBLASLt, which the first product opens. That fails (device) if it is not installed.
std::vector<exec::KernelRow> products_rows(Gpu& gpu);
/// Factorisations of f32 and f64, by cuSOLVER; has none if it is not installed.
std::vector<exec::KernelRow> factorisations_rows(Gpu& gpu);
/// Triangular systems of f32 and f64, by cuBLAS; has none if it is not installed.
std::vector<exec::KernelRow> triangular_rows(Gpu& gpu);
/// Convolutions of floats, by cuDNN; has none if it is not installed.
std::vector<exec::KernelRow> convolutions_rows(Gpu& gpu);
/// Fourier transforms of f32 and f64, by cuFFT; has none if it is not installed.
std::vector<exec::KernelRow> fourier_rows(Gpu& gpu);

/// All rows, in the order in which they are asked.
inline constexpr std::vector<exec::KernelRow> (*kKernelRows[])(Gpu&) = {
    own_kernel_rows, products_rows, factorisations_rows, triangular_rows, convolutions_rows, fourier_rows};

}  // namespace tsl::cuda
