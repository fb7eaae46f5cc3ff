// What the tests of this folder share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <unistd.h>

#include "backend/cuda/driver.h"
#include "backend/cuda/nvrtc.h"
#include "base/error.h"
#include "catch.h"

/// Ends the test here, saying why. (Catch2 2 knows no skipped tests.)
#ifdef SKIP
#define TSL_SKIP(reason) SKIP(reason)
#else
#define TSL_SKIP(reason)         \
  do {                           \
    WARN("skipped: " << reason); \
    return;                      \
  } while (false)
#endif

#define TSL_NEEDS_GPU()                                             \
  if (const std::string why = tsl::cuda::why_no_device(); !why.empty()) \
  TSL_SKIP(why)

namespace tsl::cuda {

/// Null where NVRTC is not installed, with the reason.
inline std::unique_ptr<Nvrtc> open_nvrtc(std::string& why) {
  try {
    return std::make_unique<Nvrtc>();
  } catch (const Failure& failure) {
    why = failure.what();
    return nullptr;
  }
}

/// A folder of its own, gone at the end of the test.
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
