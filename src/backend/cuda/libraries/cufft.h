// cuFFT, the Fourier transforms of CUDA, opened at run time.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

/// Declares what TSL uses of cufft.h, which NVIDIA's packages for compilers lack; a test compares these functions with
/// the header where there is one.
namespace cufft {

inline constexpr int kSuccess = 0, kAllocFailed = 2;  // cufftResult
inline constexpr int kForward = -1, kInverse = 1;
/// cufftType: real to complex, complex to real, complex to complex.
inline constexpr int kR2C = 0x2a, kC2R = 0x2c, kC2C = 0x29, kD2Z = 0x6a, kZ2D = 0x6c, kZ2Z = 0x69;
using Plan = int;

using CreateFunction = int(Plan* plan);
using SetAutoAllocationFunction = int(Plan plan, int is_automatic);
using MakePlanManyFunction = int(Plan plan, int rank, long long* n, long long* inputs, long long input_stride,
                                 long long input_distance, long long* outputs, long long output_stride,
                                 long long output_distance, int type, long long batch, size_t* work_bytes);
using SetStreamFunction = int(Plan plan, cudaStream_t stream);
using SetWorkAreaFunction = int(Plan plan, void* work);
using GetPropertyFunction = int(libraryPropertyType which, int* value);
using ExecC2CFunction = int(Plan plan, void* in, void* out, int direction);
using ExecRealFunction = int(Plan plan, void* in, void* out);

}  // namespace cufft

#define TSL_CUFFT_FUNCTIONS(X)                         \
  X(cufftCreate, CreateFunction)                       \
  X(cufftSetAutoAllocation, SetAutoAllocationFunction) \
  X(cufftMakePlanMany64, MakePlanManyFunction)         \
  X(cufftSetStream, SetStreamFunction)                 \
  X(cufftSetWorkArea, SetWorkAreaFunction)             \
  X(cufftGetProperty, GetPropertyFunction)             \
  X(cufftExecC2C, ExecC2CFunction)                     \
  X(cufftExecZ2Z, ExecC2CFunction)                     \
  X(cufftExecR2C, ExecRealFunction)                    \
  X(cufftExecD2Z, ExecRealFunction)                    \
  X(cufftExecC2R, ExecRealFunction)                    \
  X(cufftExecZ2D, ExecRealFunction)

/// The open library and its functions, named as in the header. The constructor fails (device) if it is not installed.
struct Cufft {
  /// Opens the library of a version that a driver for CUDA `driver_version` (12040) supports; 0: of any.
  explicit Cufft(int driver_version = 0);
  void check(int status, std::string_view doing) const {
    if (status != cufft::kSuccess) [[unlikely]]
      fail_on(status, doing);
  }

#define TSL_DECLARE(name, type) cufft::type* name = nullptr;
  TSL_CUFFT_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

 private:
  [[noreturn]] static void fail_on(int status, std::string_view doing);
  Library library_;
};

}  // namespace tsl::cuda
