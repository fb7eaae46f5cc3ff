// The libraries that a GPU runs ops by: each is a provider in a file of its own. What providers are made from must
// outlive them.
#pragma once

#include <memory>

#include "backend/cuda/driver/gpu.h"
#include "exec/op_kernel.h"

namespace tsl::cuda {

/// Products of floats, by cuBLASLt, which the first product opens. That fails (device) if it is not installed.
std::unique_ptr<exec::OpKernelProvider> products_provider(Gpu& gpu);
/// Factorisations of f32 and f64, by cuSOLVER; has none if it is not installed.
std::unique_ptr<exec::OpKernelProvider> factorisations_provider(Gpu& gpu);
/// Triangular systems of f32 and f64, by cuBLAS; has none if it is not installed.
std::unique_ptr<exec::OpKernelProvider> triangular_provider(Gpu& gpu);
/// Convolutions of floats, by cuDNN, or of few pixels by kernels of TSL's own; else has none if cuDNN is not installed.
std::unique_ptr<exec::OpKernelProvider> convolutions_provider(Gpu& gpu);
/// Attention, by kernels of TSL's own.
std::unique_ptr<exec::OpKernelProvider> attention_provider(Gpu& gpu);
/// Fourier transforms of f32 and f64, by cuFFT; has none if it is not installed.
std::unique_ptr<exec::OpKernelProvider> fourier_provider(Gpu& gpu);

/// The providers, in the order in which they are asked.
inline constexpr std::unique_ptr<exec::OpKernelProvider> (*kProviders[])(Gpu&) = {
    products_provider,     factorisations_provider, triangular_provider,
    convolutions_provider, attention_provider,      fourier_provider};

}  // namespace tsl::cuda
