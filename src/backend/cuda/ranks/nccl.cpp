#include "backend/cuda/ranks/nccl.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/error_names.h"
#include "base/platform/process.h"

namespace tsl::cuda {

namespace {

constexpr int kOldestNccl = 21800;                   // 2.18
constexpr int kMajorUnit = 10000, kMinorUnit = 100;  // of a version's number

}  // namespace

Nccl::Nccl()
    : library_({"libnccl.so.2", "libnccl.so"},
               "NCCL, the library of CUDA for several GPUs, was not found (libnccl.so.2): install it (Debian package "
               "libnccl2, PyPI package nvidia-nccl-cu13)") {
#define TSL_RESOLVE(name, type) this->name = reinterpret_cast<nccl::type*>(library_.function(#name));
  TSL_NCCL_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  check(ncclGetVersion(&version_), "telling its version");
  if (version_ < kOldestNccl) fail(ErrorName::library_unusable, "{} is older than NCCL 2.18", library_.name());
  // A program that uses multicast can put the GPUs of a shared host out of service.
  platform::set_variable("NCCL_NVLS_ENABLE", "0");
}

std::string Nccl::version() const {
  return fmt::format("NCCL {}.{}.{}", version_ / kMajorUnit, version_ % kMajorUnit / kMinorUnit, version_ % kMinorUnit);
}

void Nccl::fail_on(int result, std::string_view doing) const {
  fail_call("NCCL", false, doing, ncclGetErrorString(result));
}

}  // namespace tsl::cuda
