// The libraries that the CPU runs ops by: each is a provider in a file of its own.
#pragma once

#include <memory>

#include "backend/cpu/kernels.h"
#include "backend/cpu/threads.h"
#include "exec/op_kernel.h"

namespace tsl::cpu {

/// What providers are made from, which must outlive them.
struct LibraryContext {
  ThreadPool& pool;
  const KernelTable& table;
};

/// Products of floats, by OpenBLAS.
std::unique_ptr<exec::OpKernelProvider> products_provider(const LibraryContext& context);
/// Factorisations and triangular systems of f32 and f64, by the LAPACK that OpenBLAS holds.
std::unique_ptr<exec::OpKernelProvider> lapack_provider(const LibraryContext& context);
/// Convolutions and their gradients, by kernels of TSL's own.
std::unique_ptr<exec::OpKernelProvider> convolutions_provider(const LibraryContext& context);
/// Attention, by products of OpenBLAS and kernels of TSL's own.
std::unique_ptr<exec::OpKernelProvider> attention_provider(const LibraryContext& context);
/// Fourier transforms of f32 and f64, by kernels of the table.
std::unique_ptr<exec::OpKernelProvider> fft_provider(const LibraryContext& context);

/// The providers, in the order in which they are asked.
inline constexpr std::unique_ptr<exec::OpKernelProvider> (*kProviders[])(const LibraryContext&) = {
    products_provider, lapack_provider, convolutions_provider, attention_provider, fft_provider};

}  // namespace tsl::cpu
