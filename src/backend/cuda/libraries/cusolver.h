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
using SingularJacobi = struct gesvdjInfo*;

using CreateFunction = int(Handle* handle);
using SetStreamFunction = int(Handle handle, cudaStream_t stream);
using GetPropertyFunction = int(libraryPropertyType which, int* value);
using CreateParamsFunction = int(Params* params);
using DestroyParamsFunction = int(Params params);
using CreateJacobiFunction = int(Jacobi* jacobi);
using DestroyJacobiFunction = int(Jacobi jacobi);
using CreateSingularJacobiFunction = int(SingularJacobi* jacobi);
using DestroySingularJacobiFunction = int(SingularJacobi jacobi);
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
using GetrfSizeFunction = int(Handle handle, Params params, int64_t m, int64_t n, cudaDataType dtype, const void* a,
                              int64_t stride, cudaDataType compute, size_t* device_bytes, size_t* host_bytes);
using GetrfFunction = int(Handle handle, Params params, int64_t m, int64_t n, cudaDataType dtype, void* a,
                          int64_t stride, int64_t* pivots, cudaDataType compute, void* on_device, size_t device_bytes,
                          void* on_host, size_t host_bytes, int* info);
using GetrsFunction = int(Handle handle, Params params, cublasOperation_t operation, int64_t n, int64_t columns,
                          cudaDataType dtype, const void* a, int64_t stride, const int64_t* pivots,
                          cudaDataType right_dtype, void* b, int64_t right_stride, int* info);
using GeqrfSizeFunction = int(Handle handle, Params params, int64_t m, int64_t n, cudaDataType dtype, const void* a,
                              int64_t stride, cudaDataType factors_dtype, const void* factors, cudaDataType compute,
                              size_t* device_bytes, size_t* host_bytes);
using GeqrfFunction = int(Handle handle, Params params, int64_t m, int64_t n, cudaDataType dtype, void* a,
                          int64_t stride, cudaDataType factors_dtype, void* factors, cudaDataType compute,
                          void* on_device, size_t device_bytes, void* on_host, size_t host_bytes, int* info);
using OrgqrSizeFunction = int(Handle handle, int m, int n, int k, const double* a, int stride, const double* factors,
                              int* elements);
using OrgqrFunction = int(Handle handle, int m, int n, int k, double* a, int stride, const double* factors,
                          double* work, int elements, int* info);
using GesvdSizeFunction = int(Handle handle, Params params, signed char of_u, signed char of_vh, int64_t m, int64_t n,
                              cudaDataType dtype, const void* a, int64_t stride, cudaDataType values_dtype,
                              const void* values, cudaDataType u_dtype, const void* u, int64_t u_stride,
                              cudaDataType vh_dtype, const void* vh, int64_t vh_stride, cudaDataType compute,
                              size_t* device_bytes, size_t* host_bytes);
using GesvdFunction = int(Handle handle, Params params, signed char of_u, signed char of_vh, int64_t m, int64_t n,
                          cudaDataType dtype, void* a, int64_t stride, cudaDataType values_dtype, void* values,
                          cudaDataType u_dtype, void* u, int64_t u_stride, cudaDataType vh_dtype, void* vh,
                          int64_t vh_stride, cudaDataType compute, void* on_device, size_t device_bytes, void* on_host,
                          size_t host_bytes, int* info);
using GesvdpSizeFunction = int(Handle handle, Params params, int mode, int economy, int64_t m, int64_t n,
                               cudaDataType dtype, const void* a, int64_t stride, cudaDataType values_dtype,
                               const void* values, cudaDataType u_dtype, const void* u, int64_t u_stride,
                               cudaDataType v_dtype, const void* v, int64_t v_stride, cudaDataType compute,
                               size_t* device_bytes, size_t* host_bytes);
using GesvdpFunction = int(Handle handle, Params params, int mode, int economy, int64_t m, int64_t n,
                           cudaDataType dtype, void* a, int64_t stride, cudaDataType values_dtype, void* values,
                           cudaDataType u_dtype, void* u, int64_t u_stride, cudaDataType v_dtype, void* v,
                           int64_t v_stride, cudaDataType compute, void* on_device, size_t device_bytes, void* on_host,
                           size_t host_bytes, int* info, double* change);
using GesvdjBatchedSizeFunction = int(Handle handle, int mode, int m, int n, const double* a, int stride,
                                      const double* values, const double* u, int u_stride, const double* v,
                                      int v_stride, int* elements, SingularJacobi jacobi, int batch);
using GesvdjBatchedFunction = int(Handle handle, int mode, int m, int n, double* a, int stride, double* values,
                                  double* u, int u_stride, double* v, int v_stride, double* work, int elements,
                                  int* info, SingularJacobi jacobi, int batch);

}  // namespace cusolver

#define TSL_CUSOLVER_FUNCTIONS(X)                                   \
  X(cusolverDnCreate, CreateFunction)                               \
  X(cusolverDnSetStream, SetStreamFunction)                         \
  X(cusolverGetProperty, GetPropertyFunction)                       \
  X(cusolverDnCreateParams, CreateParamsFunction)                   \
  X(cusolverDnDestroyParams, DestroyParamsFunction)                 \
  X(cusolverDnCreateSyevjInfo, CreateJacobiFunction)                \
  X(cusolverDnDestroySyevjInfo, DestroyJacobiFunction)              \
  X(cusolverDnCreateGesvdjInfo, CreateSingularJacobiFunction)       \
  X(cusolverDnDestroyGesvdjInfo, DestroySingularJacobiFunction)     \
  X(cusolverDnXpotrf_bufferSize, PotrfSizeFunction)                 \
  X(cusolverDnXpotrf, PotrfFunction)                                \
  X(cusolverDnDpotrfBatched, PotrfBatchedFunction)                  \
  X(cusolverDnXsyevd_bufferSize, SyevdSizeFunction)                 \
  X(cusolverDnXsyevd, SyevdFunction)                                \
  X(cusolverDnDsyevjBatched_bufferSize, JacobiSizeFunction)         \
  X(cusolverDnDsyevjBatched, JacobiFunction)                        \
  X(cusolverDnXgetrf_bufferSize, GetrfSizeFunction)                 \
  X(cusolverDnXgetrf, GetrfFunction)                                \
  X(cusolverDnXgetrs, GetrsFunction)                                \
  X(cusolverDnXgeqrf_bufferSize, GeqrfSizeFunction)                 \
  X(cusolverDnXgeqrf, GeqrfFunction)                                \
  X(cusolverDnDorgqr_bufferSize, OrgqrSizeFunction)                 \
  X(cusolverDnDorgqr, OrgqrFunction)                                \
  X(cusolverDnXgesvd_bufferSize, GesvdSizeFunction)                 \
  X(cusolverDnXgesvd, GesvdFunction)                                \
  X(cusolverDnXgesvdp_bufferSize, GesvdpSizeFunction)               \
  X(cusolverDnXgesvdp, GesvdpFunction)                              \
  X(cusolverDnDgesvdjBatched_bufferSize, GesvdjBatchedSizeFunction) \
  X(cusolverDnDgesvdjBatched, GesvdjBatchedFunction)

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
