// cuSOLVER, the factorisations of CUDA, opened at run time.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

/// Declares what TSL uses of cusolverDn.h. NVIDIA's packages for compilers lack that header, and these functions have
/// been the same since CUDA 11.1; a test compares them where there is the header.
namespace cusolver {

inline constexpr int kSuccess = 0, kAllocFailed = 2;  // cusolverStatus_t
inline constexpr int kVectors = 1;                    // cusolverEigMode_t: eigenvalues and eigenvectors
using Handle = struct cusolverDnContext*;
using Params = struct cusolverDnParams*;
using Jacobi = struct syevjInfo*;

using CreateFunction = int(Handle* handle);
using SetStreamFunction = int(Handle handle, cudaStream_t stream);
using GetPropertyFunction = int(libraryPropertyType which, int* value);
using CreateParamsFunction = int(Params* params);
using DestroyParamsFunction = int(Params params);
using CreateJacobiFunction = int(Jacobi* jacobi);
using DestroyJacobiFunction = int(Jacobi jacobi);
using PotrfSizeFunction = int(Handle handle, Params params, cublasFillMode_t triangle, int64_t n, cudaDataType dtype,
                              const void* a, int64_t stride, cudaDataType compute, size_t* device_bytes,
                              size_t* host_bytes);
using PotrfFunction = int(Handle handle, Params params, cublasFillMode_t triangle, int64_t n, cudaDataType dtype,
                          void* a, int64_t stride, cudaDataType compute, void* on_device, size_t device_bytes,
                          void* on_host, size_t host_bytes, int* info);
using PotrfBatchedFunction = int(Handle handle, cublasFillMode_t triangle, int n, double* a[], int stride, int* info,
                                 int batch);
using SyevdSizeFunction = int(Handle handle, Params params, int mode, cublasFillMode_t triangle, int64_t n,
                              cudaDataType dtype, const void* a, int64_t stride, cudaDataType values_dtype,
                              const void* values, cudaDataType compute, size_t* device_bytes, size_t* host_bytes);
using SyevdFunction = int(Handle handle, Params params, int mode, cublasFillMode_t triangle, int64_t n,
                          cudaDataType dtype, void* a, int64_t stride, cudaDataType values_dtype, void* values,
                          cudaDataType compute, void* on_device, size_t device_bytes, void* on_host, size_t host_bytes,
                          int* info);
using JacobiSizeFunction = int(Handle handle, int mode, cublasFillMode_t triangle, int n, const double* a, int stride,
                               const double* values, int* elements, Jacobi jacobi, int batch);
using JacobiFunction = int(Handle handle, int mode, cublasFillMode_t triangle, int n, double* a, int stride,
                           double* values, double* work, int elements, int* info, Jacobi jacobi, int batch);

}  // namespace cusolver

#define TSL_CUSOLVER_FUNCTIONS(X)                           \
  X(cusolverDnCreate, CreateFunction)                       \
  X(cusolverDnSetStream, SetStreamFunction)                 \
  X(cusolverGetProperty, GetPropertyFunction)               \
  X(cusolverDnCreateParams, CreateParamsFunction)           \
  X(cusolverDnDestroyParams, DestroyParamsFunction)         \
  X(cusolverDnCreateSyevjInfo, CreateJacobiFunction)        \
  X(cusolverDnDestroySyevjInfo, DestroyJacobiFunction)      \
  X(cusolverDnXpotrf_bufferSize, PotrfSizeFunction)         \
  X(cusolverDnXpotrf, PotrfFunction)                        \
  X(cusolverDnDpotrfBatched, PotrfBatchedFunction)          \
  X(cusolverDnXsyevd_bufferSize, SyevdSizeFunction)         \
  X(cusolverDnXsyevd, SyevdFunction)                        \
  X(cusolverDnDsyevjBatched_bufferSize, JacobiSizeFunction) \
  X(cusolverDnDsyevjBatched, JacobiFunction)

/// The open library and its functions, named as in the header. The constructor fails (device) if it is not installed.
struct Cusolver {
  /// Opens the library of a version that a driver for CUDA `driver_version` (12040) supports; 0: of any.
  explicit Cusolver(int driver_version = 0);
  void check(int status, std::string_view doing) const {
    if (status != cusolver::kSuccess) [[unlikely]]
      fail_on(status, doing);
  }

#define TSL_DECLARE(name, type) cusolver::type* name = nullptr;
  TSL_CUSOLVER_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

 private:
  [[noreturn]] static void fail_on(int status, std::string_view doing);
  Library library_;
};

}  // namespace tsl::cuda
