#include "backend/cuda/driver/driver.h"

#include "base/error_names.h"
#include "exec/backend_registry.h"
#include "tensor/block_cache.h"

namespace tsl::cuda {

namespace {

// CUDA 12.1: the first version in which a kernel takes more than 4 KiB of parameters, which a group of many operands
// may need.
constexpr int kOldest = 12010;

#define TSL_TEXT_OF(name) #name
#define TSL_TEXT(name) TSL_TEXT_OF(name)  // expands cuda.h's macro for the versioned name

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

template <class Function> void resolve(Function& function, const Library& library, const char* name) {
  void* address = library.find(name);
  if (!address) {
    fail(ErrorName::driver_unusable,
         "the NVIDIA driver is too old (it lacks {}): TSL needs one for CUDA {} or newer; "
         "update it, or run with --device cpu",
         name, version_text(kOldest));
  }
  function = reinterpret_cast<Function>(address);
}

/// Opens the driver's library. Without a file that could be it, there is no driver.
Library open_library() {
  try {
    return Library({"libcuda.so.1"},
                   "CUDA driver not found (libcuda.so.1): install the NVIDIA driver, or run with --device cpu");
  } catch (const Failure& failure) {
    if (failure.error().hints.empty()) throw exec::NoDevice(failure.what());
    throw;
  }
}

}  // namespace

Driver::Driver(Library library) : library_(std::move(library)) {
#define TSL_RESOLVE(name) resolve(this->name, library_, TSL_TEXT(name));
  TSL_DRIVER_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
}

std::shared_ptr<const Driver> Driver::open() {
  Library library = open_library();
  // Checks the version first, since an old driver lacks functions too.
  const auto get_version = reinterpret_cast<decltype(&::cuDriverGetVersion)>(library.function("cuDriverGetVersion"));
  int version = 0;
  if (get_version(&version) == CUDA_SUCCESS && version < kOldest) {
    fail(ErrorName::driver_unusable,
         "the NVIDIA driver is too old: it is for CUDA {}, and TSL needs one for CUDA {} or newer; "
         "update it, or run with --device cpu",
         version_text(version), version_text(kOldest));
  }
  const auto driver = std::make_shared<Driver>(std::move(library));
  driver->version_ = version;
  const CUresult result = driver->cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE) {
    throw exec::NoDevice(
        "no GPU: the NVIDIA driver is installed but sees none (CUDA_VISIBLE_DEVICES may hide it); "
        "run with --device cpu");
  }
  if (result == CUDA_ERROR_STUB_LIBRARY)
    throw exec::NoDevice(fmt::format("{} is a stub without a driver; run with --device cpu", driver->library_.name()));
  if (result != CUDA_SUCCESS)
    fail(ErrorName::driver_unusable, "the NVIDIA driver does not start: {}; run with --device cpu",
         driver->describe(result));
  driver->check(driver->cuDeviceGetCount(&driver->device_count_), "counting GPUs");
  if (driver->device_count_ == 0) throw exec::NoDevice("no GPU: the NVIDIA driver sees none; run with --device cpu");
  return driver;
}

std::string Driver::version() const { return version_text(version_); }

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) return fmt::format("error {}", static_cast<int>(result));
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) return name;
  return fmt::format("{} ({})", text, name);
}

void* Driver::pinned_memory(uint64_t bytes) const {
  void* memory = nullptr;
  const CUresult result = cuMemAllocHost(&memory, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    fail(ErrorName::out_of_memory, "the computer ran out of memory that a GPU can reach: {} asked for",
         describe_bytes(bytes));
  }
  check(result, "taking memory that a GPU can reach");
  return memory;
}

CUcontext Driver::open_context(CUdevice device, std::string_view name) const {
  CUcontext context = nullptr;
  const CUresult result = cuDevicePrimaryCtxRetain(&context, device);
  if (result == CUDA_SUCCESS) return context;
  const ErrorName error = result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorName::out_of_memory : ErrorName::device_failed;
  fail(error,
       "{} does not open, perhaps because of other programs that use it: {}; run on another GPU, or with --device cpu",
       name, describe(result));
}

void Driver::fail_on(CUresult result, std::string_view doing) const {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) fail(ErrorName::out_of_memory, "the GPU ran out of memory {}", doing);
  fail(ErrorName::device_failed, "CUDA failed {}: {}", doing, describe(result));
}

}  // namespace tsl::cuda
