#include "backend/cuda/libraries/cudnn.h"

#include "base/error_names.h"

namespace tsl::cuda {

namespace {
constexpr size_t kOldest = 90000;       // cuDNN 9.0
constexpr int kAllocFailed = 4004;      // CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
constexpr int kVersionsOfMajor = 1000;  // of CUDA's runtime: 13000
}  // namespace

Cudnn::Cudnn(int driver_version)
    : library_({"libcudnn.so.9", "libcudnn.so"},
               "cuDNN, the library of CUDA for convolutions, was not found (libcudnn.so.9): install it (Debian package "
               "libcudnn9-cuda-13, PyPI package nvidia-cudnn-cu13)") {
#define TSL_RESOLVE(name, type) this->name = reinterpret_cast<cudnn::type*>(library_.function(#name));
  TSL_CUDNN_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  if (cudnnGetVersion() < kOldest) fail(ErrorName::library_unusable, "{} is older than cuDNN 9", library_.name());
  check_major(library_, static_cast<int>(cudnnGetCudartVersion()) / kVersionsOfMajor, driver_version);
}

void Cudnn::fail_on(int status, std::string_view doing) {
  fail_call("cuDNN", status == kAllocFailed, doing, fmt::format("status {}", status));
}

}  // namespace tsl::cuda
