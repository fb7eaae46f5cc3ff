// Tests libraries opened at run time: errors name missing ones, and installed ones have all functions.
#include "backend/cuda/driver/library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "backend/cuda/libraries/cublas.h"
#include "backend/cuda/libraries/cublaslt.h"
#include "backend/cuda/libraries/cusolver.h"
#include "base/error_names.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;

TEST_CASE("a library that is missing is named, with what to do") {
  try {
    const Library library({"libtsl-is-not-there.so.9", "libtsl-is-not-there.so"},
                          "the Foo library was not found: install Foo");
    FAIL("opened " << library.name());
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::device);
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
  CHECK_THROWS_AS(check_device(0), exec::NoDevice);  // which is usual: no line is printed
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
  static int major, minor;
  Driver driver(Library({path.c_str()}, "the stub did not open"));
  driver.cuDeviceGetName = [](char* name, int, CUdevice) { return *name = 'P', CUDA_SUCCESS; };
  driver.cuDeviceTotalMem = [](size_t*, CUdevice) { return CUDA_SUCCESS; };
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute which, CUdevice) {
    *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? major : minor;
    return CUDA_SUCCESS;
  };
  for (const auto& [of_major, of_minor] : {std::pair(7, 5), {8, 9}, {12, 0}}) {
    major = of_major, minor = of_minor;
    CHECK(properties_of(driver, 0).arch == fmt::format("sm_{}{}", major, minor));
  }
  for (const auto& [of_major, of_minor] : {std::pair(6, 1), {7, 0}, {7, 2}}) {
    major = of_major, minor = of_minor;
    CHECK_THROWS_WITH(
        properties_of(driver, 0),
        fmt::format("P is too old: it is of compute capability {}.{}, and TSL needs 7.5 or newer; run with "
                    "--device cpu",
                    major, minor));
  }
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
    return Error{ErrorName::user_error, "", {}, {}, {}};
  };
  result = CUDA_ERROR_OUT_OF_MEMORY;
  const Error pinned = error_of([&] { driver.pinned_memory(4096); });
  CHECK(pinned.kind() == ErrorKind::memory);
  CHECK(pinned.message == "the computer ran out of memory that a GPU can reach: 4.0 KiB asked for");
  const Error full = error_of([&] { driver.open_context(0, "P"); });
  CHECK(full.kind() == ErrorKind::memory);
  CHECK(full.message.find("P does not open, perhaps because of other programs that use it: ") == 0);
  result = CUDA_ERROR_DEVICE_UNAVAILABLE;
  const Error busy = error_of([&] { driver.open_context(0, "P"); });
  CHECK(busy.kind() == ErrorKind::device);
  CHECK(busy.message.find("; run on another GPU, or with --device cpu") != std::string::npos);
}

TEST_CASE("cuBLASLt opens and has every function used") {
  try {
    const CublasLt blas;
    CHECK(blas.cublasLtGetVersion() >= 120000);
    CHECK_THROWS_WITH(blas.check(CUBLAS_STATUS_NOT_SUPPORTED, "adding"), Catch::Contains("cuBLASLt failed adding: "));
  } catch (const Failure& failure) {
    CHECK(std::string(failure.what()).find("cuBLASLt, the matrix library of CUDA, was not found") == 0);
    TSL_SKIP(failure.what());
  }
}

TEST_CASE("cuBLAS and cuSOLVER open and have every function used") {
  try {
    const Cublas cublas;
    CHECK_THROWS_WITH(cublas.check(CUBLAS_STATUS_NOT_SUPPORTED, "adding"), Catch::Contains("cuBLAS failed adding: "));
    const Cusolver cusolver;
    CHECK_THROWS_WITH(cusolver.check(7, "adding"), Catch::Contains("cuSOLVER failed adding: status 7"));
  } catch (const Failure& failure) {
    CHECK(std::string(failure.what()).find("of CUDA for ") != std::string::npos);
    TSL_SKIP(failure.what());
  }
}

TEST_CASE("a library is looked for by its own version") {
  CHECK(names_of("libcublas.so", 13010) ==
        std::vector<std::string>{"libcublas.so.13", "libcublas.so.12", "libcublas.so"});
  CHECK(names_of("libcusolver.so", 12040, 1) == std::vector<std::string>{"libcusolver.so.11", "libcusolver.so"});
  CHECK(missing_text("cuSOLVER", "libcusolver.so", "libcusolver", "nvidia-cusolver", 0, 1) ==
        "cuSOLVER was not found (libcusolver.so.12 or .11): install it (Debian package libcusolver, PyPI package "
        "nvidia-cusolver, or the CUDA Toolkit), set CUDA_HOME, or run with --device cpu");
}

namespace {

/// An environment variable, restored at the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

size_t position_of(const std::vector<std::string>& folders, const std::string& folder) {
  return static_cast<size_t>(std::find(folders.begin(), folders.end(), folder) - folders.begin());
}

}  // namespace

TEST_CASE("the toolkit is looked for where installers, conda and pip put it, newer versions first") {
  const Folder root;
  const auto make = [&](const std::string& folder) {
    std::filesystem::create_directories(root.path + folder);
    return root.path + folder;
  };
  make("/usr/local/cuda-9.9");
  make("/usr/local/cuda-12.4");
  make("/usr/local/cuda-13.0");
  const std::string conda = make("/conda"), python = make("/python/bin"), environment = make("/venv");
  const std::string of_pip_13 = make("/venv/lib/python3.11/site-packages/nvidia/cu13/lib"),
                    of_pip_12 = make("/python/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib"),
                    of_debian = make("/python/lib/python3/dist-packages/nvidia/cublas/lib"),
                    of_user = make("/home/.local/lib/python3.11/site-packages/nvidia/cublas/lib");
  std::ofstream(python + "/python3") << "#!/bin/sh\n";
  std::filesystem::permissions(python + "/python3", std::filesystem::perms::owner_all);
  const Variable home("HOME", root.path + "/home"), cuda("CUDA_HOME", "/opt/some-cuda"),
      conda_prefix("CONDA_PREFIX", conda), path("PATH", "/nowhere:" + python), venv("VIRTUAL_ENV", environment);
  const std::vector<std::string> folders = toolkit_folders(root.path);
  INFO(fmt::format("{}", fmt::join(folders, "\n")));
  CHECK(folders.at(0) == "/opt/some-cuda/lib64");
  const std::string in_order[] = {root.path + "/usr/local/cuda/lib64",
                                  root.path + "/usr/local/cuda-13.0/lib64",
                                  root.path + "/usr/local/cuda-12.4/lib64",
                                  root.path + "/usr/local/cuda-9.9/lib64",
                                  root.path + "/opt/cuda/lib64",
                                  conda + "/lib",
                                  of_pip_13,
                                  of_pip_12};
  for (const std::string& folder : in_order) {
    INFO(folder);
    CHECK(position_of(folders, folder) < folders.size());
    if (&folder != in_order) CHECK(position_of(folders, (&folder)[-1]) < position_of(folders, folder));
  }
  CHECK(position_of(folders, of_debian) < folders.size());
  CHECK(position_of(folders, of_user) < folders.size());
}

TEST_CASE("a library opens from conda's and from pip's folder") {
  const Folder root;
  const std::string conda = root.path + "/conda/lib",
                    pip = root.path + "/venv/lib/python3.11/site-packages/nvidia/x/lib";
  const std::string libm = Library({"libm.so.6"}, "no libm").name();
  for (const std::string& folder : {conda, pip}) {
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(libm, folder + "/libtsl_" + (folder == conda ? "conda" : "pip") + ".so.13");
  }
  const Variable conda_prefix("CONDA_PREFIX", root.path + "/conda"), venv("VIRTUAL_ENV", root.path + "/venv");
  CHECK(Library(names_of("libtsl_conda.so", 13000), "missing").name() == conda + "/libtsl_conda.so.13");
  CHECK(Library(names_of("libtsl_pip.so", 13000), "missing").name() == pip + "/libtsl_pip.so.13");
  CHECK_THROWS_WITH(Library(names_of("libtsl_pip.so", 12040), "missing"), "missing");  // the driver takes no 13
}

TEST_CASE("the version of a library is one that the driver supports") {
  using Names = std::vector<std::string>;
  CHECK(names_of("libx.so", 0) == Names{"libx.so.13", "libx.so.12", "libx.so"});
  CHECK(names_of("libx.so", 13000) == Names{"libx.so.13", "libx.so.12", "libx.so"});
  CHECK(names_of("libx.so", 14000) == Names{"libx.so.13", "libx.so.12", "libx.so"});
  CHECK(names_of("libx.so", 12040) == Names{"libx.so.12", "libx.so"});
  const Library library({"libc.so.6"}, "no C library");
  CHECK_NOTHROW(check_major(library, 13, 0));
  CHECK_NOTHROW(check_major(library, 12, 12040));
  CHECK_NOTHROW(check_major(library, 12, 13000));
  CHECK_THROWS_WITH(
      check_major(library, 13, 12040),
      Catch::Contains("libc.so.6 is of CUDA 13, and the NVIDIA driver is for CUDA 12: update the driver"));
  CHECK(missing_text("Foo", "libfoo.so", "foo", "nvidia-foo", 12040) ==
        "Foo was not found (libfoo.so.12): install it (Debian package foo, PyPI package nvidia-foo-cu12, or the CUDA "
        "Toolkit), set CUDA_HOME, or run with --device cpu");
  CHECK(missing_text("Foo", "libfoo.so", "foo", "nvidia-foo", 13000)
            .find("(libfoo.so.13 or .12): install it (Debian "
                  "package foo, PyPI package nvidia-foo, or") != std::string::npos);
}

TEST_CASE("where libraries are looked for follows the environment") {
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
