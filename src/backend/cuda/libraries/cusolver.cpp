#include "backend/cuda/libraries/cusolver.h"

#include "base/error.h"

namespace tsl::cuda {

namespace {
constexpr int kCusolverMajorsBehind = 1;  // cuSOLVER 12 is of CUDA 13
}  // namespace

Cusolver::Cusolver(int driver_version)
    : library_(names_of("libcusolver.so", driver_version, kCusolverMajorsBehind),
               missing_text("cuSOLVER, the library of CUDA for factorisations,", "libcusolver.so", "libcusolver",
                            "nvidia-cusolver", driver_version, kCusolverMajorsBehind)) {
#define TSL_RESOLVE(name, type) this->name = reinterpret_cast<cusolver::type*>(library_.function(#name));
  TSL_CUSOLVER_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  int major = 0;
  check(cusolverGetProperty(MAJOR_VERSION, &major), "telling its version");
  check_major(library_, major + kCusolverMajorsBehind, driver_version);
}

void Cusolver::fail_on(int status, std::string_view doing) {
  fail_call("cuSOLVER", status == cusolver::kAllocFailed, doing, fmt::format("status {}", status));
}

}  // namespace tsl::cuda
