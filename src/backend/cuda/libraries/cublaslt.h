// cuBLASLt, the matrix products of CUDA, opened at run time.
#pragma once

#include <cublasLt.h>

#include <string>
#include <string_view>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

#define TSL_CUBLASLT_FUNCTIONS(X)         \
  X(cublasLtCreate)                       \
  X(cublasLtGetVersion)                   \
  X(cublasLtGetStatusString)              \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoCheck)              \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatrixLayoutSetAttribute)

/// The open library and its functions, named as in the header. The constructor fails (device) if it is not installed.
struct CublasLt {
  /// Opens the library of a version that a driver for CUDA `driver_version` (12040) supports; 0: of any.
  explicit CublasLt(int driver_version = 0);
  void check(cublasStatus_t status, std::string_view doing) const {
    if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
      fail_on(status, doing);
  }

#define TSL_DECLARE(name) decltype(&::name) name = nullptr;
  TSL_CUBLASLT_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

 private:
  [[noreturn]] void fail_on(cublasStatus_t status, std::string_view doing) const;
  Library library_;
};

}  // namespace tsl::cuda
