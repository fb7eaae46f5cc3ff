#include "backend/cuda/driver/blas.h"

#include "base/error.h"

namespace tsl::cuda {

Blas::Blas()
    : library_({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
               "cuBLASLt, the matrix library of CUDA, was not found (libcublasLt.so.13 or .12): install it (Debian "
               "package libcublas, or the CUDA Toolkit), set CUDA_HOME, or run with --device cpu") {
#define TSL_RESOLVE(name) this->name = reinterpret_cast<decltype(&::name)>(library_.function(#name));
  TSL_BLAS_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
}

void Blas::fail_on(cublasStatus_t status, std::string_view doing) const {
  const char* text = cublasLtGetStatusString(status);
  const ErrorKind kind = status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorKind::memory : ErrorKind::device;
  fail(kind, "cuBLASLt failed {}: {}", doing, text ? text : "unknown status");
}

}  // namespace tsl::cuda
