// The CUDA driver, opened at run time. Members have the names of cuda.h's functions, so a call reads as in C:
// driver.cuMemAlloc(…). (Macros of cuda.h replace such a name by the versioned one everywhere, also for members.)
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/driver/library.h"

#if CUDA_VERSION < 12000
#error "TSL's CUDA backend needs the headers of CUDA 12 or newer"
#endif

namespace tsl::cuda {

#define TSL_DRIVER_FUNCTIONS(X)                  \
  X(cuInit)                                      \
  X(cuDriverGetVersion)                          \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceTotalMem)                            \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuDeviceCanAccessPeer)                       \
  X(cuCtxEnablePeerAccess)                       \
  X(cuCtxGetCurrent)                             \
  X(cuCtxSetCurrent)                             \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamSynchronize)                         \
  X(cuStreamWaitEvent)                           \
  X(cuStreamBeginCapture)                        \
  X(cuStreamEndCapture)                          \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemAllocHost)                              \
  X(cuMemFreeHost)                               \
  X(cuMemcpyHtoDAsync)                           \
  X(cuMemcpyDtoHAsync)                           \
  X(cuMemcpyDtoDAsync)                           \
  X(cuMemcpyPeerAsync)                           \
  X(cuMemsetD8Async)                             \
  X(cuMemsetD2D8Async)                           \
  X(cuMemGetInfo)                                \
  X(cuIpcGetMemHandle)                           \
  X(cuIpcOpenMemHandle)                          \
  X(cuIpcCloseMemHandle)                         \
  X(cuModuleLoadData)                            \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernel)                              \
  X(cuGraphCreate)                               \
  X(cuGraphDestroy)                              \
  X(cuGraphAddKernelNode)                        \
  X(cuGraphAddChildGraphNode)                    \
  X(cuGraphAddEventRecordNode)                   \
  X(cuGraphChildGraphNodeGetGraph)               \
  X(cuGraphGetNodes)                             \
  X(cuGraphInstantiate)                          \
  X(cuGraphExecKernelNodeSetParams)              \
  X(cuGraphExecChildGraphNodeSetParams)          \
  X(cuGraphNodeSetEnabled)                       \
  X(cuGraphExecDestroy)                          \
  X(cuGraphLaunch)                               \
  X(cuEventCreate)                               \
  X(cuEventRecord)                               \
  X(cuEventSynchronize)                          \
  X(cuEventElapsedTime)                          \
  X(cuEventDestroy)

/// The functions of an open driver. Any thread may call them.
struct Driver {
  /// Opens and initialises the driver; fails (device) if there is none, it is older than CUDA 12.1, or it sees no GPU.
  static std::shared_ptr<const Driver> open();
  /// Resolves the functions of `library` only; for tests.
  explicit Driver(Library library);

  /// Fails if `result` is an error: (memory) if the GPU's memory is exhausted, otherwise (device). `doing` completes
  /// the message "CUDA failed <doing>": "launching k_add__3fa2".
  void check(CUresult result, std::string_view doing) const {
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail_on(result, doing);
  }
  /// Describes an error: "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
  std::string describe(CUresult result) const;

  /// Allocates host memory that GPUs can read and write; cuMemFreeHost frees it. Fails (memory) if there is none left.
  void* pinned_memory(uint64_t bytes) const;
  /// Opens a GPU. Fails (memory) if other programs use all of its memory, and (device) if one has exclusive access.
  CUcontext open_context(CUdevice device, std::string_view name) const;

  /// Returns the CUDA version that the driver supports: "12.4".
  std::string version() const;
  /// Returns the same as a number: 12040.
  int version_number() const { return version_; }
  int device_count() const { return device_count_; }

#define TSL_DECLARE(name) decltype(&::name) name = nullptr;
  TSL_DRIVER_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

 private:
  [[noreturn]] void fail_on(CUresult result, std::string_view doing) const;

  Library library_;
  int version_ = 0;
  int device_count_ = 0;
};

}  // namespace tsl::cuda
