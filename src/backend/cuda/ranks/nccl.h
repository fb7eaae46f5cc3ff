// NCCL, the library of CUDA for several GPUs, opened at run time.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

/// Declares what TSL uses of nccl.h, which is a package of its own. These functions have been the same since NCCL 2.7;
/// a test compares them where there is the header.
namespace nccl {

inline constexpr int kSuccess = 0, kInProgress = 7;  // ncclResult_t
inline constexpr int kBytes = 0;                     // ncclDataType_t: ncclInt8
inline constexpr size_t kIdBytes = 128;              // NCCL_UNIQUE_ID_BYTES
using Communicator = struct ncclComm*;
struct Id {
  char bytes[kIdBytes];
};

using VersionFunction = int(int* version);
using IdFunction = int(Id* id);
using InitFunction = int(Communicator* communicator, int ranks, Id id, int rank);
using EndFunction = int(Communicator communicator);
using TextFunction = const char*(int result);
using AsyncErrorFunction = int(Communicator communicator, int* result);
using SendFunction = int(const void* from, size_t count, int dtype, int to, Communicator communicator, CUstream stream);
using ReceiveFunction = int(void* to, size_t count, int dtype, int from, Communicator communicator, CUstream stream);
using GroupFunction = int();

}  // namespace nccl

#define TSL_NCCL_FUNCTIONS(X)                  \
  X(ncclGetVersion, VersionFunction)           \
  X(ncclGetUniqueId, IdFunction)               \
  X(ncclCommInitRank, InitFunction)            \
  X(ncclCommAbort, EndFunction)                \
  X(ncclGetErrorString, TextFunction)          \
  X(ncclCommGetAsyncError, AsyncErrorFunction) \
  X(ncclSend, SendFunction)                    \
  X(ncclRecv, ReceiveFunction)                 \
  X(ncclGroupStart, GroupFunction)             \
  X(ncclGroupEnd, GroupFunction)

/// The open library and its functions, named as in the header. The constructor fails (device) if it is not installed,
/// or older than 2.18. It turns NVLink multicast off for the process.
struct Nccl {
  Nccl();
  void check(int result, std::string_view doing) const {
    if (result != nccl::kSuccess) [[unlikely]]
      fail_on(result, doing);
  }
  /// Returns its name and version: "NCCL 2.27.5".
  std::string version() const;

#define TSL_DECLARE(name, type) nccl::type* name = nullptr;
  TSL_NCCL_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

 private:
  [[noreturn]] void fail_on(int result, std::string_view doing) const;
  Library library_;
  int version_ = 0;
};

}  // namespace tsl::cuda
