// Tests that memory and streams of a GPU pass the API without copies and without waiting. They need a GPU; those that
// run no kernel are content with the null driver, which says what waits for what.
#include "support/cuda_device.h"

#ifdef TSL_HAS_CUDA

#include <dlfcn.h>

#include "api.h"
#include "api/dlpack.h"

using namespace tsl::api;
using namespace tsl::api_test;

namespace {

/// Memory and a stream of the host program, on the GPU.
struct HostGpu {
  HostGpu() : driver(tsl::cuda::Driver::open()) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    driver->check(driver->cuDeviceGet(&device, 0), "opening the GPU");
    driver->check(driver->cuDevicePrimaryCtxRetain(&context, device), "opening the GPU");
    driver->check(driver->cuCtxSetCurrent(context), "switching to the GPU");
    driver->check(driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "making a stream");
    driver->check(driver->cuMemAlloc(&memory, sizeof numbers), "allocating memory");
    driver->check(driver->cuMemcpyHtoDAsync(memory, numbers, sizeof numbers, stream), "copying");
  }
  ~HostGpu() {
    driver->cuStreamSynchronize(stream);
    driver->cuMemFree(memory);
    driver->cuStreamDestroy(stream);
    driver->cuDevicePrimaryCtxRelease(0);
  }
  HostGpu(const HostGpu&) = delete;
  HostGpu& operator=(const HostGpu&) = delete;
  tsl_stream handle() const { return reinterpret_cast<tsl_stream>(stream); }
  void* data() const { return reinterpret_cast<void*>(memory); }
  /// Returns what the null driver has recorded under a name; `otherwise` where the driver is a real one.
  tsl_stream recorded(const char* name, tsl_stream otherwise) const {
    void* const library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    auto* const function = library ? reinterpret_cast<CUstream (*)()>(dlsym(library, name)) : nullptr;
    return function ? reinterpret_cast<tsl_stream>(function()) : otherwise;
  }

  const float numbers[4] = {1, 2, 3, 4};
  std::shared_ptr<const tsl::cuda::Driver> driver;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
};

void allow_gpu(tsl_config& config) { config.capabilities = TSL_ALLOW_GPU | TSL_ALLOW_COMPILE; }
void count(void* user) { ++*static_cast<int*>(user); }

tsl_value wrap(Fixture& t, const HostGpu& gpu, int* released) {
  const tsl_tensor_type type = {TSL_DTYPE_F32, 1, {4}, {0}, false, 0};
  tsl_value x = {0};
  const tsl_status status = tsl_tensor_wrap_device(t.engine, str("cuda:0"), &type, gpu.data(), TSL_READ_ONLY,
                                                   gpu.handle(), count, released, &x);
  INFO(t.message());
  REQUIRE(status == TSL_OK);
  return x;
}

std::vector<float> read(Fixture& t, tsl_value tensor) {
  std::vector<float> numbers(4);
  REQUIRE(tsl_tensor_read(t.engine, tensor, numbers.data(), numbers.size() * sizeof(float)) == TSL_OK);
  return numbers;
}

}  // namespace

TEST_CASE("memory of a GPU is wrapped in place, in the order of the host's stream", "[api][cuda]") {
  TSL_NEEDS_GPU();
  const HostGpu gpu;
  int released = 0;
  Fixture t(allow_gpu);
  const tsl_value x = wrap(t, gpu, &released);
  tsl_stream own = 0;
  REQUIRE(tsl_engine_get_stream(t.engine, str("cuda:0"), &own) == TSL_OK);
  CHECK(gpu.recorded("null_driver_last_waiting", own) == own);
  CHECK(gpu.recorded("null_driver_last_awaited", gpu.handle()) == gpu.handle());
  void* data = nullptr;
  tsl_string device = {nullptr, 0};
  REQUIRE(tsl_tensor_map_device(t.engine, x, TSL_NO_STREAM, &data, &device) == TSL_OK);
  CHECK(data == gpu.data());
  CHECK(text_of(device) == "cuda:0");
  const void* host = nullptr;
  CHECK(tsl_tensor_map(t.engine, x, &host) == TSL_DEVICE);
  CHECK(read(t, x) == std::vector<float>{1, 2, 3, 4});
  tsl_release(t.engine, x);
  CHECK(released == 1);
  CHECK(gpu.recorded("null_driver_last_waiting", gpu.handle()) == gpu.handle());
  CHECK(gpu.recorded("null_driver_last_awaited", own) == own);
}

TEST_CASE("an engine works on the host's stream until it gets its own again", "[api][cuda]") {
  TSL_NEEDS_GPU();
  const HostGpu gpu;
  int released = 0;
  Fixture t(allow_gpu);
  const tsl_value x = wrap(t, gpu, &released);
  tsl_stream own = 0, now = 0;
  REQUIRE(tsl_engine_get_stream(t.engine, str("cuda"), &own) == TSL_OK);
  REQUIRE(tsl_engine_set_stream(t.engine, str("cuda"), gpu.handle()) == TSL_OK);
  REQUIRE(tsl_engine_get_stream(t.engine, str("cuda"), &now) == TSL_OK);
  CHECK(now == gpu.handle());
  CHECK(read(t, x) == std::vector<float>{1, 2, 3, 4});
  CHECK(gpu.recorded("null_driver_last_stream", gpu.handle()) == gpu.handle());
  REQUIRE(tsl_engine_set_stream(t.engine, str("cuda"), TSL_NO_STREAM) == TSL_OK);
  REQUIRE(tsl_engine_get_stream(t.engine, str("cuda"), &now) == TSL_OK);
  CHECK(now == own);
  CHECK(read(t, x) == std::vector<float>{1, 2, 3, 4});
  CHECK(gpu.recorded("null_driver_last_stream", own) == own);
}

TEST_CASE("tensors of a GPU go out by DLPack and come back, without a copy", "[api][cuda]") {
  TSL_NEEDS_GPU();
  const HostGpu gpu;
  int released = 0;
  Fixture t(allow_gpu);
  const tsl_value x = wrap(t, gpu, &released);
  DLManagedTensorVersioned* out = nullptr;
  REQUIRE(tsl_tensor_to_dlpack(t.engine, x, TSL_READ_ONLY, gpu.handle(), &out) == TSL_OK);
  CHECK(gpu.recorded("null_driver_last_waiting", gpu.handle()) == gpu.handle());
  CHECK(out->dl_tensor.device_type == kDlCuda);
  CHECK(out->dl_tensor.device_id == 0);
  CHECK(out->dl_tensor.data == gpu.data());
  tsl_value y = {0};
  REQUIRE(tsl_tensor_from_dlpack(t.engine, out, TSL_READ_ONLY, gpu.handle(), &y) == TSL_OK);
  tsl_release(t.engine, x);
  CHECK(read(t, y) == std::vector<float>{1, 2, 3, 4});
  CHECK(released == 0);
  tsl_release(t.engine, y);
  t.eval("nil");
  CHECK(released == 1);
}

TEST_CASE("calls for a device that is not allowed, missing or no GPU fail and release", "[api][cuda]") {
  TSL_NEEDS_GPU();
  const HostGpu gpu;
  int released = 0;
  const tsl_tensor_type type = {TSL_DTYPE_F32, 1, {4}, {0}, false, 0};
  tsl_value x = {0};
  tsl_stream stream = 0;
  Fixture closed;
  CHECK(tsl_tensor_wrap_device(closed.engine, str("cuda"), &type, gpu.data(), TSL_READ_ONLY, gpu.handle(), count,
                               &released, &x) == TSL_DEVICE);
  CHECK(closed.message() == "the host program does not allow cuda:0");
  Fixture t(allow_gpu);
  for (const char* name : {"vulkan", "cuda:99", ""}) {
    CHECK(tsl_tensor_wrap_device(t.engine, str(name), &type, gpu.data(), TSL_READ_ONLY, gpu.handle(), count, &released,
                                 &x) == TSL_DEVICE);
    CHECK(tsl_engine_set_stream(t.engine, str(name), gpu.handle()) == TSL_DEVICE);
  }
  CHECK(tsl_tensor_wrap_device(t.engine, str("cuda"), nullptr, gpu.data(), TSL_READ_ONLY, gpu.handle(), count,
                               &released, &x) == TSL_MISUSE);
  CHECK(tsl_tensor_wrap_device({0}, str("cuda"), &type, gpu.data(), TSL_READ_ONLY, gpu.handle(), count, &released,
                               &x) == TSL_MISUSE);
  CHECK(released == 6);
  CHECK(tsl_engine_set_stream(t.engine, str("cpu"), gpu.handle()) == TSL_DEVICE);
  CHECK(tsl_engine_get_stream(t.engine, str("cpu"), &stream) == TSL_DEVICE);
  CHECK(tsl_engine_get_stream(t.engine, str("cuda"), nullptr) == TSL_MISUSE);
}

TEST_CASE("kernels read wrapped memory and write results on the host's stream", "[api][cuda][real]") {
  TSL_NEEDS_GPU();
  const HostGpu gpu;
  int released = 0;
  {
    Fixture t(allow_gpu);
    REQUIRE(tsl_engine_set_stream(t.engine, str("cuda"), gpu.handle()) == TSL_OK);
    t.eval("@compile\nfn f(x) = x * 2.0 + 1.0");
    const tsl_value x = wrap(t, gpu, &released);
    for (int run = 0; run < 4; ++run) {  // the graph is made, and replayed
      tsl_value y = {0};
      REQUIRE(tsl_call(t.engine, t.get("f"), &x, 1, &y) == TSL_OK);
      void* data = nullptr;
      REQUIRE(tsl_tensor_map_device(t.engine, y, TSL_NO_STREAM, &data, nullptr) == TSL_OK);
      float out[4] = {};
      gpu.driver->check(gpu.driver->cuMemcpyDtoHAsync(out, reinterpret_cast<CUdeviceptr>(data), sizeof out, gpu.stream),
                        "copying");
      gpu.driver->check(gpu.driver->cuStreamSynchronize(gpu.stream), "waiting");
      CHECK(std::vector<float>(out, out + 4) == std::vector<float>{3, 5, 7, 9});
      tsl_release(t.engine, y);
    }
    tsl_release(t.engine, x);
  }
  CHECK(released == 1);
}

#endif
