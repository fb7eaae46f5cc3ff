#include "backend/cpu/libraries/libraries.h"

#include <cblas.h>

/// OpenBLAS ends its threads; it starts them as the process loads it. A library without threads lacks the function.
extern "C" int blas_thread_shutdown_(void) __attribute__((weak));

namespace tsl::cpu {

Providers library_providers(ThreadPool& pool, const KernelTable& table) {
  Providers providers;
  providers.push_back(products_provider(pool, table));
  providers.push_back(lapack_provider(pool));
  return providers;
}

void stop_library_threads() {
  [[maybe_unused]] static const bool done = [] {
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_) blas_thread_shutdown_();
    return true;
  }();
}

}  // namespace tsl::cpu
