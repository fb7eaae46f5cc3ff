// Shared by the tests of the CUDA backend.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "backend/cuda/backend.h"
#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/nvrtc.h"
#include "base/error.h"
#include "catch.h"
#include "catch/skip.h"

#define TSL_NEEDS_GPU() \
  if (const std::string why = tsl::cuda::why_no_device(); !why.empty()) TSL_SKIP(why)

namespace tsl::cuda {

/// Returns null, with the reason, if NVRTC is not installed. Fails instead where TSL_TEST_NEEDS_NVRTC is set, as CI
/// does.
inline std::unique_ptr<Nvrtc> open_nvrtc(std::string& why) {
  try {
    return std::make_unique<Nvrtc>();
  } catch (const Failure& failure) {
    if (std::getenv("TSL_TEST_NEEDS_NVRTC")) throw;
    why = failure.what();
    return nullptr;
  }
}

/// As open_nvrtc(), for long lists of generated kernels. Null also in builds where that takes too long.
inline std::unique_ptr<Nvrtc> open_nvrtc_for_lists(std::string& why) {
#ifdef TSL_SLOW_BUILD
  why = "the release build compiles these kernels";
  return nullptr;
#else
  return open_nvrtc(why);
#endif
}

/// Options with which a kernel compiles in half the time or less, to a cubin that is hardly optimised. Empty for NVRTC
/// before 13, which may not have the option.
inline std::vector<std::string> fast_options(const Nvrtc& nvrtc) {
  if (std::atoi(nvrtc.version().c_str()) >= 13) return {"--Ofast-compile=max"};
  return {};
}

inline std::vector<const KernelSource*> pointers_to(const std::vector<KernelSource>& kernels) {
  std::vector<const KernelSource*> out;
  for (const KernelSource& kernel : kernels) out.push_back(&kernel);
  return out;
}

/// A temporary folder, removed at the end of the test.
struct Folder {
  std::string path;
  Folder() {
    path = (std::filesystem::temp_directory_path() / "tsl_cuda_XXXXXX").string();
    if (!mkdtemp(path.data())) throw std::runtime_error("no temporary folder");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace tsl::cuda
