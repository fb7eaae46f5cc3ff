#include "backend/cuda/libraries/cublaslt.h"

namespace tsl::cuda {

CublasLt::CublasLt(int driver_version)
    : library_(names_of("libcublasLt.so", driver_version),
               missing_text("cuBLASLt, the matrix library of CUDA,", "libcublasLt.so", "libcublas", "nvidia-cublas",
                            driver_version)) {
#define TSL_RESOLVE(name) this->name = reinterpret_cast<decltype(&::name)>(library_.function(#name));
  TSL_CUBLASLT_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  check_major(library_, static_cast<int>(cublasLtGetVersion() / 10000), driver_version);
}

void CublasLt::fail_on(cublasStatus_t status, std::string_view doing) const {
  const char* text = cublasLtGetStatusString(status);
  fail_call("cuBLASLt", status == CUBLAS_STATUS_ALLOC_FAILED, doing, text ? text : "unknown status");
}

}  // namespace tsl::cuda
