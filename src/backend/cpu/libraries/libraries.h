// The libraries that the CPU runs ops by: each is a provider in a file of its own.
#pragma once

#include <memory>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/threads.h"
#include "exec/op_kernel.h"

namespace tsl::cpu {

using Providers = std::vector<std::unique_ptr<exec::OpKernelProvider>>;

/// Returns the providers, in the order in which they are asked. The pool and the table must outlive them.
Providers library_providers(ThreadPool& pool, const KernelTable& table);

/// Products of floats, by OpenBLAS.
std::unique_ptr<exec::OpKernelProvider> products_provider(ThreadPool& pool, const KernelTable& table);
/// Factorisations and triangular systems of f32 and f64, by the LAPACK that OpenBLAS holds.
std::unique_ptr<exec::OpKernelProvider> lapack_provider(ThreadPool& pool);

/// Ends the threads of OpenBLAS, once a process: the pool's threads divide the work, and there is one pool.
void stop_library_threads();

}  // namespace tsl::cpu
