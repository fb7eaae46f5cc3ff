#include "backend/cuda/libraries/cublas.h"

namespace tsl::cuda {

Cublas::Cublas(int driver_version)
    : library_(names_of("libcublas.so", driver_version),
               missing_text("cuBLAS, the library of CUDA for linear algebra,", "libcublas.so", "libcublas",
                            "nvidia-cublas", driver_version)) {
#define TSL_RESOLVE(name) this->name = reinterpret_cast<decltype(&::name)>(library_.function(#name));
  TSL_CUBLAS_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  int major = 0;
  check(cublasGetProperty(MAJOR_VERSION, &major), "telling its version");
  check_major(library_, major, driver_version);
}

void Cublas::fail_on(cublasStatus_t status, std::string_view doing) const {
  const char* text = cublasGetStatusString(status);
  fail_call("cuBLAS", status == CUBLAS_STATUS_ALLOC_FAILED, doing, text ? text : "unknown status");
}

}  // namespace tsl::cuda
