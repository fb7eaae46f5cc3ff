// cuDNN, the convolutions of CUDA, opened at run time.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <string_view>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

/// Declares what TSL uses of cudnn.h, which is a package of its own. These functions have been the same since cuDNN 8;
/// a test compares them where there is the header.
namespace cudnn {

inline constexpr int kSuccess = 0;                                       // cudnnStatus_t
inline constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9;  // cudnnDataType_t
inline constexpr int kDefaultMath = 0, kTensorOpMath = 1, kFmaMath = 3;  // cudnnMathType_t
inline constexpr int kRowMajor = 0;                                      // cudnnTensorFormat_t
inline constexpr int kCrossCorrelation = 1;                              // cudnnConvolutionMode_t
inline constexpr int kDeterministic = 1;                                 // cudnnDeterminism_t
using Handle = struct cudnnContext*;
using Tensor = struct cudnnTensorStruct*;
using Filter = struct cudnnFilterStruct*;
using Convolution = struct cudnnConvolutionStruct*;

/// An algorithm that cuDNN proposes.
struct Algorithm {
  int number;
  int status;
  float time;
  size_t workspace_bytes;
  int determinism;
  int math;
  int reserved[3];
};

using VersionFunction = size_t();
using CreateFunction = int(Handle* handle);
using SetStreamFunction = int(Handle handle, cudaStream_t stream);
using CreateTensorFunction = int(Tensor* tensor);
using SetTensorFunction = int(Tensor tensor, int dtype, int rank, const int* extents, const int* strides);
using DestroyTensorFunction = int(Tensor tensor);
using CreateFilterFunction = int(Filter* filter);
using SetFilterFunction = int(Filter filter, int dtype, int format, int rank, const int* extents);
using DestroyFilterFunction = int(Filter filter);
using CreateConvolutionFunction = int(Convolution* convolution);
using SetConvolutionFunction = int(Convolution convolution, int axes, const int* padding, const int* stride,
                                   const int* dilation, int mode, int dtype);
using SetGroupsFunction = int(Convolution convolution, int groups);
using SetMathFunction = int(Convolution convolution, int math);
using DestroyConvolutionFunction = int(Convolution convolution);
using FindForwardFunction = int(Handle handle, Tensor x, Filter w, Convolution convolution, Tensor y, int wanted,
                                int* found, Algorithm* algorithms);
using FindInputFunction = int(Handle handle, Filter w, Tensor dy, Convolution convolution, Tensor dx, int wanted,
                              int* found, Algorithm* algorithms);
using FindWeightsFunction = int(Handle handle, Tensor x, Tensor dy, Convolution convolution, Filter dw, int wanted,
                                int* found, Algorithm* algorithms);
using ForwardFunction = int(Handle handle, const void* alpha, Tensor x_type, const void* x, Filter w_type,
                            const void* w, Convolution convolution, int algorithm, void* workspace,
                            size_t workspace_bytes, const void* beta, Tensor y_type, void* y);
using InputFunction = int(Handle handle, const void* alpha, Filter w_type, const void* w, Tensor dy_type,
                          const void* dy, Convolution convolution, int algorithm, void* workspace,
                          size_t workspace_bytes, const void* beta, Tensor dx_type, void* dx);
using WeightsFunction = int(Handle handle, const void* alpha, Tensor x_type, const void* x, Tensor dy_type,
                            const void* dy, Convolution convolution, int algorithm, void* workspace,
                            size_t workspace_bytes, const void* beta, Filter dw_type, void* dw);

}  // namespace cudnn

#define TSL_CUDNN_FUNCTIONS(X)                                          \
  X(cudnnGetVersion, VersionFunction)                                   \
  X(cudnnGetCudartVersion, VersionFunction)                             \
  X(cudnnCreate, CreateFunction)                                        \
  X(cudnnSetStream, SetStreamFunction)                                  \
  X(cudnnCreateTensorDescriptor, CreateTensorFunction)                  \
  X(cudnnSetTensorNdDescriptor, SetTensorFunction)                      \
  X(cudnnDestroyTensorDescriptor, DestroyTensorFunction)                \
  X(cudnnCreateFilterDescriptor, CreateFilterFunction)                  \
  X(cudnnSetFilterNdDescriptor, SetFilterFunction)                      \
  X(cudnnDestroyFilterDescriptor, DestroyFilterFunction)                \
  X(cudnnCreateConvolutionDescriptor, CreateConvolutionFunction)        \
  X(cudnnSetConvolutionNdDescriptor, SetConvolutionFunction)            \
  X(cudnnSetConvolutionGroupCount, SetGroupsFunction)                   \
  X(cudnnSetConvolutionMathType, SetMathFunction)                       \
  X(cudnnDestroyConvolutionDescriptor, DestroyConvolutionFunction)      \
  X(cudnnGetConvolutionForwardAlgorithm_v7, FindForwardFunction)        \
  X(cudnnGetConvolutionBackwardDataAlgorithm_v7, FindInputFunction)     \
  X(cudnnGetConvolutionBackwardFilterAlgorithm_v7, FindWeightsFunction) \
  X(cudnnConvolutionForward, ForwardFunction)                           \
  X(cudnnConvolutionBackwardData, InputFunction)                        \
  X(cudnnConvolutionBackwardFilter, WeightsFunction)

/// The open library and its functions, named as in the header. The constructor fails (device) if it is not installed.
struct Cudnn {
  /// Opens the library of a version that a driver for CUDA `driver_version` (12040) supports; 0: of any.
  explicit Cudnn(int driver_version = 0);
  void check(int status, std::string_view doing) const {
    if (status != cudnn::kSuccess) [[unlikely]]
      fail_on(status, doing);
  }

#define TSL_DECLARE(name, type) cudnn::type* name = nullptr;
  TSL_CUDNN_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

 private:
  [[noreturn]] static void fail_on(int status, std::string_view doing);
  Library library_;
};

}  // namespace tsl::cuda
