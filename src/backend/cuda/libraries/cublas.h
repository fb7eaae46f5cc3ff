// cuBLAS, opened at run time for triangular systems and batches of small matrices. (Products are cuBLASLt's.)
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string_view>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

/// The workspace to give cuBLAS. Without it, a recorded call would allocate memory in the graph.
inline constexpr uint64_t kBlasWorkspace = uint64_t{8} << 20;

#define TSL_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate_v2)            \
  X(cublasGetProperty)          \
  X(cublasGetStatusString)      \
  X(cublasSetStream_v2)         \
  X(cublasSetWorkspace_v2)      \
  X(cublasStrsm_v2)             \
  X(cublasDtrsm_v2)             \
  X(cublasStrsmBatched)         \
  X(cublasDtrsmBatched)         \
  X(cublasDgetrfBatched)        \
  X(cublasDgetrsBatched)        \
  X(cublasDgeqrfBatched)

/// The open library and its functions, named as in the header. The constructor fails (device) if it is not installed.
struct Cublas {
  /// Opens the library of a version that a driver for CUDA `driver_version` (12040) supports; 0: of any.
  explicit Cublas(int driver_version = 0);
  void check(cublasStatus_t status, std::string_view doing) const {
    if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
      fail_on(status, doing);
  }

#define TSL_DECLARE(name) decltype(&::name) name = nullptr;
  TSL_CUBLAS_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

 private:
  [[noreturn]] void fail_on(cublasStatus_t status, std::string_view doing) const;
  Library library_;
};

}  // namespace tsl::cuda
