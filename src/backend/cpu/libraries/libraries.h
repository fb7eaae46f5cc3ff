// The libraries that the CPU runs ops by: each is a provider in a file of its own.
#pragma once

#include <memory>

#include "backend/cpu/kernels.h"
#include "backend/cpu/threads.h"
#include "exec/op_kernel.h"

namespace tsl::cpu {

/// Products of floats, by OpenBLAS. The pool and the table must outlive the provider.
std::unique_ptr<exec::OpKernelProvider> products_provider(ThreadPool& pool, const KernelTable& table);
/// Factorisations and triangular systems of f32 and f64, by the LAPACK that OpenBLAS holds.
std::unique_ptr<exec::OpKernelProvider> lapack_provider(ThreadPool& pool);

}  // namespace tsl::cpu
