// Tests libraries opened at run time: errors name missing ones, and installed ones have all functions.
#include "backend/cuda/driver/library.h"

#include <dlfcn.h>

#include "backend/cuda/driver/blas.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;

TEST_CASE("a library that is missing is named, with what to do") {
  try {
    const Library library({"libtsl-is-not-there.so.9", "libtsl-is-not-there.so"},
                          "the Foo library was not found: install Foo");
    FAIL("opened " << library.name());
  } catch (const Failure& failure) {
    CHECK(failure.error().kind == ErrorKind::device);
    CHECK(std::string(failure.what()) == "the Foo library was not found: install Foo");
    CHECK(failure.error().notes.empty());  // that a name was not found goes without saying
  }
}

TEST_CASE("a library that is there but lacks a function is too old") {
  const Library library({"libc.so.6"}, "no C library");
  CHECK(library.find("malloc"));
  CHECK(library.function("malloc"));
  CHECK_FALSE(library.find("tsl_no_such_function"));
  CHECK_THROWS_WITH(library.function("tsl_no_such_function"), Catch::Contains("has no function tsl_no_such_function") &&
                                                                  Catch::Contains("or run with --device cpu"));
  CHECK(library.name().find("libc.so.6") != std::string::npos);
  CHECK_THROWS_WITH(Driver(Library({"libc.so.6"}, "no C library")),
                    Catch::Contains("driver is too old") && Catch::Contains("update it, or run with --device cpu"));
}

TEST_CASE("without a driver the message says what to do") {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver) {
    dlclose(driver);
    TSL_SKIP("there is a driver");
  }
  const std::string why = why_no_device();
  CHECK(why == "CUDA driver not found (libcuda.so.1): install the NVIDIA driver, or run with --device cpu");
}

namespace {

/// Returns the toolkit's stub of the driver, or "".
std::string find_stub() {
  for (const std::string& folder : toolkit_folders()) {
    if (std::filesystem::exists(folder + "/stubs/libcuda.so")) return folder + "/stubs/libcuda.so";
  }
  return {};
}

}  // namespace

TEST_CASE("the toolkit's stand-in for the driver has every function used") {
  const std::string path = find_stub();
  if (path.empty()) TSL_SKIP("no CUDA Toolkit with stubs/libcuda.so");
  const Driver driver(Library({path.c_str()}, "the stub did not open"));
  CHECK(driver.cuMemAlloc != nullptr);
  CHECK(driver.cuGraphAddKernelNode != nullptr);
  CHECK(driver.cuInit(0) != CUDA_SUCCESS);  // it does nothing
  CHECK_THROWS_WITH(driver.check(CUDA_ERROR_ILLEGAL_ADDRESS, "adding"), Catch::Contains("CUDA failed adding: "));
  CHECK_THROWS_WITH(driver.check(CUDA_ERROR_OUT_OF_MEMORY, "adding"),
                    Catch::Contains("the GPU ran out of memory adding"));
  CHECK_NOTHROW(driver.check(CUDA_SUCCESS, "adding"));
}

TEST_CASE("a GPU that is too old is as good as none, and the message says why") {
  const std::string path = find_stub();
  if (path.empty()) TSL_SKIP("no CUDA Toolkit with stubs/libcuda.so");
  static int major;
  Driver driver(Library({path.c_str()}, "the stub did not open"));
  driver.cuDeviceGetName = [](char* name, int, CUdevice) { return *name = 'P', CUDA_SUCCESS; };
  driver.cuDeviceTotalMem = [](size_t*, CUdevice) { return CUDA_SUCCESS; };
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute which, CUdevice) {
    *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? major : 1;
    return CUDA_SUCCESS;
  };
  major = 7;
  CHECK(properties_of(driver, 0).arch == "sm_71");
  major = 6;
  CHECK_THROWS_WITH(properties_of(driver, 0),
                    "P is too old: it is of compute capability 6.1, and TSL needs 7.0 or newer; run with --device cpu");
}

TEST_CASE("where there is no room the message says whose, and what to do") {
  const std::string path = find_stub();
  if (path.empty()) TSL_SKIP("no CUDA Toolkit with stubs/libcuda.so");
  static CUresult result;
  Driver driver(Library({path.c_str()}, "the stub did not open"));
  driver.cuMemAllocHost = [](void**, size_t) { return result; };
  driver.cuDevicePrimaryCtxRetain = [](CUcontext*, CUdevice) { return result; };
  const auto error_of = [](const auto& call) {
    try {
      call();
    } catch (const Failure& failure) { return failure.error(); }
    return Error{ErrorKind::user, "", {}, {}, {}};
  };
  result = CUDA_ERROR_OUT_OF_MEMORY;
  const Error pinned = error_of([&] { driver.pinned_memory(4096); });
  CHECK(pinned.kind == ErrorKind::memory);
  CHECK(pinned.message == "the computer ran out of memory that a GPU can reach: 4.0 KiB asked for");
  const Error full = error_of([&] { driver.open_context(0, "P"); });
  CHECK(full.kind == ErrorKind::memory);
  CHECK(full.message.find("P does not open, perhaps because of other programs that use it: ") == 0);
  result = CUDA_ERROR_DEVICE_UNAVAILABLE;
  const Error busy = error_of([&] { driver.open_context(0, "P"); });
  CHECK(busy.kind == ErrorKind::device);
  CHECK(busy.message.find("; run on another GPU, or with --device cpu") != std::string::npos);
}

TEST_CASE("cuBLASLt opens and has every function used") {
  try {
    const Blas blas;
    CHECK(blas.cublasLtGetVersion() >= 120000);
    CHECK_THROWS_WITH(blas.check(CUBLAS_STATUS_NOT_SUPPORTED, "adding"), Catch::Contains("cuBLASLt failed adding: "));
  } catch (const Failure& failure) {
    CHECK(std::string(failure.what()).find("cuBLASLt, the matrix library of CUDA, was not found") == 0);
    TSL_SKIP(failure.what());
  }
}

TEST_CASE("where libraries are looked for follows the environment") {
  const char* home = std::getenv("CUDA_HOME");
  const std::string saved = home ? home : "";
  setenv("CUDA_HOME", "/opt/some-cuda", 1);
  CHECK(toolkit_folders().at(0) == "/opt/some-cuda/lib64");
  saved.empty() ? unsetenv("CUDA_HOME") : setenv("CUDA_HOME", saved.c_str(), 1);
  CHECK(toolkit_folders().back().rfind("/usr/local/cuda/", 0) == 0);
  CHECK_FALSE(program_folders().empty());
  CHECK(std::filesystem::is_directory(program_folders()[0]));

  const std::string before = search_state();
  CHECK(before == search_state());
  const char* linker = std::getenv("LD_LIBRARY_PATH");
  const std::string path = linker ? linker : "";
  const Folder folder;
  setenv("LD_LIBRARY_PATH", folder.path.c_str(), 1);
  const std::string with_folder = search_state();
  CHECK(with_folder != before);
  std::filesystem::last_write_time(folder.path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(search_state() != with_folder);  // a library may have been installed there
  path.empty() ? unsetenv("LD_LIBRARY_PATH") : setenv("LD_LIBRARY_PATH", path.c_str(), 1);
}
