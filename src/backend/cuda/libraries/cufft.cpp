#include "backend/cuda/libraries/cufft.h"

#include "base/error.h"

namespace tsl::cuda {

namespace {
constexpr int kCufftMajorsBehind = 1;  // cuFFT 12 is of CUDA 13
}  // namespace

Cufft::Cufft(int driver_version)
    : library_(names_of("libcufft.so", driver_version, kCufftMajorsBehind),
               missing_text("cuFFT, the library of CUDA for Fourier transforms,", "libcufft.so", "libcufft",
                            "nvidia-cufft", driver_version, kCufftMajorsBehind)) {
#define TSL_RESOLVE(name, type) this->name = reinterpret_cast<cufft::type*>(library_.function(#name));
  TSL_CUFFT_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  int major = 0;
  check(cufftGetProperty(MAJOR_VERSION, &major), "telling its version");
  check_major(library_, major + kCufftMajorsBehind, driver_version);
}

void Cufft::fail_on(int status, std::string_view doing) {
  fail_call("cuFFT", status == cufft::kAllocFailed, doing, fmt::format("status {}", status));
}

}  // namespace tsl::cuda
