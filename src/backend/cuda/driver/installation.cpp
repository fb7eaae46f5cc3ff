#include "backend/cuda/driver/installation.h"

#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/driver.h"
#include "backend/cuda/driver/library.h"
#include "base/error.h"
#include "tensor/block_cache.h"

namespace tsl::cuda {

namespace {

struct LibraryRow {
  const char* name;
  const char* what;  // with a comma at the end
  const char* file;
  const char* debian;  // packages
  const char* pypi;
  int majors_behind;
  bool is_needed;
};

constexpr LibraryRow kLibraries[] = {
    {"NVRTC", "NVRTC, the CUDA compiler library,", "libnvrtc.so", "cuda-nvrtc", "nvidia-cuda-nvrtc", 0, true},
    {"cuBLASLt", "cuBLASLt, the matrix library of CUDA,", "libcublasLt.so", "libcublas", "nvidia-cublas", 0, true},
    {"cuBLAS", "cuBLAS, the library of CUDA for linear algebra,", "libcublas.so", "libcublas", "nvidia-cublas", 0,
     false},
    {"cuSOLVER", "cuSOLVER, the library of CUDA for factorisations,", "libcusolver.so", "libcusolver",
     "nvidia-cusolver", 1, false},
    {"cuFFT", "cuFFT, the library of CUDA for Fourier transforms,", "libcufft.so", "libcufft", "nvidia-cufft", 1,
     false},
};

InstalledPart try_library(const std::string& name, const std::vector<std::string>& files, const std::string& missing,
                          bool is_needed) {
  try {
    return {name, true, is_needed, Library(files, missing).name()};
  } catch (const Failure& failure) {
    std::string text = failure.error().message;
    for (const std::string& hint : failure.error().hints) text += "; " + hint;
    return {name, false, is_needed, text};
  }
}

/// Adds the driver and its GPUs. Returns the version of CUDA that the driver supports; 0 without one.
int add_driver(std::vector<InstalledPart>& parts) {
  try {
    const auto driver = Driver::open();
    parts.push_back({"driver", true, true, "for CUDA " + driver->version()});
    for (int i = 0; i < driver->device_count(); ++i) {
      CUdevice device = 0;
      driver->check(driver->cuDeviceGet(&device, i), "choosing a GPU");
      try {
        const Properties gpu = properties_of(*driver, device);
        parts.push_back({fmt::format("GPU {}", i), true, true,
                         fmt::format("{}, compute capability {}.{}, {}", gpu.name, gpu.compute_major, gpu.compute_minor,
                                     describe_bytes(gpu.total_memory))});
      } catch (const Failure& failure) {
        parts.push_back({fmt::format("GPU {}", i), false, true, failure.error().message});
      }
    }
    return driver->version_number();
  } catch (const Failure& failure) {
    parts.push_back({"driver", false, true, failure.error().message});
    return 0;
  }
}

}  // namespace

std::vector<InstalledPart> installed_parts() {
  std::vector<InstalledPart> parts;
  const int version = add_driver(parts);
  for (const LibraryRow& row : kLibraries) {
    parts.push_back(try_library(row.name, names_of(row.file, version, row.majors_behind),
                                missing_text(row.what, row.file, row.debian, row.pypi, version, row.majors_behind),
                                row.is_needed));
  }
  parts.push_back(try_library("cuDNN", {"libcudnn.so.9", "libcudnn.so"},
                              "cuDNN, the library of CUDA for convolutions, was not found (libcudnn.so.9): install it "
                              "(Debian package libcudnn9-cuda-13, PyPI package nvidia-cudnn-cu13)",
                              false));
  parts.push_back(
      try_library("NCCL", {"libnccl.so.2", "libnccl.so"},
                  "NCCL, the library of CUDA for several GPUs, was not found (libnccl.so.2): programs on one "
                  "GPU need none (Debian package libnccl2, PyPI package nvidia-nccl-cu13)",
                  false));
  return parts;
}

}  // namespace tsl::cuda
