#include "backend/cuda/driver/device.h"

#include <algorithm>
#include <utility>

#include "backend/cuda/driver/work_log.h"
#include "base/error_names.h"

namespace tsl::cuda {

namespace {

// Compute capability 7.5, the oldest that NVRTC 13 compiles for.
constexpr int kOldestGpu = 75;

}  // namespace

CUdevice find_device(const Driver& driver, int ordinal) {
  const int count = driver.device_count();
  if (count == 1 && ordinal != 0)
    fail(ErrorName::no_device, "there is no GPU {}: this machine has one, cuda:0", ordinal);
  if (ordinal < 0 || ordinal >= count) {
    fail(ErrorName::no_device, "there is no GPU {}: this machine has {}, cuda:0 to cuda:{}", ordinal, count, count - 1);
  }
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "opening the GPU");
  return device;
}

Properties properties_of(const Driver& driver, CUdevice device) {
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.check(driver.cuDeviceGetAttribute(&value, which, device), "asking for the GPU's properties");
    return value;
  };
  char name[256] = {};
  driver.check(driver.cuDeviceGetName(name, static_cast<int>(sizeof name - 1), device), "asking for the GPU's name");
  size_t memory = 0;
  driver.check(driver.cuDeviceTotalMem(&memory, device), "asking for the GPU's memory");
  Properties p;
  p.name = name;
  p.total_memory = memory;
  p.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.threads_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.shared_bytes_per_block = static_cast<uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  p.cache_bytes = static_cast<uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  p.arch = fmt::format("sm_{}{}", p.compute_major, p.compute_minor);
  if (p.compute_major * 10 + p.compute_minor < kOldestGpu) {
    fail(ErrorName::gpu_too_old,
         "{} is too old: it is of compute capability {}.{}, and TSL needs {}.{} or newer; run with --device cpu",
         p.name, p.compute_major, p.compute_minor, kOldestGpu / 10, kOldestGpu % 10);
  }
  return p;
}

DeviceFacts facts_of(const Properties& properties, bool tf32) {
  const int major = properties.compute_major;
  return {.multiprocessors = properties.multiprocessors,
          .shared_bytes = properties.shared_bytes_per_block,
          .has_warp_products = major >= 8,
          .has_group_products = major == 9 && properties.compute_minor == 0,
          .has_clusters = major >= 9,
          .tf32 = tf32};
}

Device::Device(int ordinal)
    : driver_(Driver::open()),
      ordinal_(ordinal),
      device_(find_device(*driver_, ordinal)),
      properties_(properties_of(*driver_, device_)) {
  context_ = driver_->open_context(device_, properties_.name);
  try {
    make_current();
    check(driver_->cuStreamCreate(&own_stream_, CU_STREAM_NON_BLOCKING), "creating a stream");
    stream_ = own_stream_;
  } catch (...) {
    close();
    throw;
  }
}

Device::~Device() { close(); }

// Releases all resources. Errors are ignored: they have been reported where they happened.
void Device::close() noexcept {
  CUcontext before = nullptr;
  driver_->cuCtxGetCurrent(&before);
  driver_->cuCtxSetCurrent(context_);
  staging_.reset();
  if (own_stream_) {
    driver_->cuStreamSynchronize(own_stream_);
    driver_->cuStreamDestroy(own_stream_);
  }
  driver_->cuCtxSetCurrent(before == context_ ? nullptr : before);
  driver_->cuDevicePrimaryCtxRelease(device_);
}

void Device::make_current() const { check(driver_->cuCtxSetCurrent(context_), "switching to the GPU"); }

void Device::use_stream(CUstream stream) {
  if (stream == stream_) return;
  order(stream_, stream);
  stream_ = stream;
  if (staging_) staging_->use_stream(stream);
}

void Device::order(CUstream before, CUstream after) const {
  if (before == after) return;
  CUevent event = nullptr;
  check(driver_->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
  CUresult result = driver_->cuEventRecord(event, before);
  if (result == CUDA_SUCCESS) result = driver_->cuStreamWaitEvent(after, event, 0);
  driver_->cuEventDestroy(event);  // the driver destroys it when it has completed
  check(result, "ordering the work of two streams");
}

void Device::synchronize() const { check(driver_->cuStreamSynchronize(stream_), "waiting for the GPU"); }

void Device::copy_to_device(CUdeviceptr to, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  const WorkLog::Scope call(log_, GpuRecord::Kind::to_device, bytes);
  staging().to_device(to, static_cast<const std::byte*>(from), bytes);
  counters_.bytes_to_device += bytes;
}

void Device::copy_to_host(void* to, CUdeviceptr from, uint64_t bytes) {
  if (bytes == 0) return;
  const WorkLog::Scope call(log_, GpuRecord::Kind::to_host, bytes);
  staging().to_host(static_cast<std::byte*>(to), from, bytes);
  counters_.bytes_to_host += bytes;
}

void Device::copy_on_device(CUdeviceptr to, CUdeviceptr from, uint64_t bytes) {
  if (bytes == 0) return;
  const WorkLog::Scope call(log_, GpuRecord::Kind::on_device, bytes);
  check(driver_->cuMemcpyDtoDAsync(to, from, bytes, stream_), "copying within the GPU");
  counters_.bytes_on_device += bytes;
}

void Device::copy_from(Device& other, CUdeviceptr to, CUdeviceptr from, uint64_t bytes) {
  if (bytes == 0) return;
  allow_access(other);
  wait_for(other);
  make_current();
  {
    const WorkLog::Scope call(log_, GpuRecord::Kind::on_device, bytes);
    check(driver_->cuMemcpyPeerAsync(to, context_, from, other.context_, bytes, stream_), "copying from another GPU");
  }
  counters_.bytes_on_device += bytes;
  other.wait_for(*this);  // the other device may overwrite the memory next
  make_current();
}

/// Enables direct access to the other GPU's memory. Where the hardware cannot, or has reached its limit of peers, the
/// driver copies through the host.
void Device::allow_access(const Device& other) {
  if (std::find(peers_.begin(), peers_.end(), other.context_) != peers_.end()) return;
  int can = 0;
  check(driver_->cuDeviceCanAccessPeer(&can, device_, other.device_), "asking whether a GPU reaches another");
  if (can) {
    const CUresult result = driver_->cuCtxEnablePeerAccess(other.context_, 0);
    const bool is_expected = result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED || result == CUDA_ERROR_TOO_MANY_PEERS;
    if (!is_expected) check(result, "reaching another GPU");
  }
  peers_.push_back(other.context_);
}

void Device::wait_for(const Device& other) const {
  CUevent event = nullptr;
  other.make_current();
  check(driver_->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
  CUresult result = driver_->cuEventRecord(event, other.stream_);
  make_current();
  if (result == CUDA_SUCCESS) result = driver_->cuStreamWaitEvent(stream_, event, 0);
  driver_->cuEventDestroy(event);  // the driver destroys it when it has completed
  check(result, "waiting for another GPU");
}

void Device::fill(CUdeviceptr at, unsigned char value, uint64_t bytes) {
  if (bytes == 0) return;
  const WorkLog::Scope call(log_, GpuRecord::Kind::fill, bytes);
  check(driver_->cuMemsetD8Async(at, value, bytes, stream_), "filling memory of the GPU");
}

Staging& Device::staging() {
  if (!staging_) staging_ = std::make_unique<Staging>(*driver_, stream_);
  return *staging_;
}

void Device::launch(const Launch& launch, void** arguments, std::string_view name) {
  launch_part(launch, arguments, name);
  ++counters_.kernel_launches;
}

void Device::launch_part(const Launch& launch, void** arguments, std::string_view name) {
  const CUresult result =
      driver_->cuLaunchKernel(launch.function, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                              launch.block[1], launch.block[2], launch.shared_bytes, stream_, arguments, nullptr);
  if (result != CUDA_SUCCESS) check(result, fmt::format("launching {}", name));
}

void Device::launch_graph(CUgraphExec graph, std::string_view name) {
  const CUresult result = driver_->cuGraphLaunch(graph, stream_);
  if (result != CUDA_SUCCESS) check(result, fmt::format("launching the graph of {}", name));
  ++counters_.graph_launches;
}

// Uses relaxed mode: libraries may load their kernels on first use while their work is recorded. The device's own
// stream records, since a default stream cannot.
void Device::begin_capture() {
  before_capture_ = std::exchange(stream_, own_stream_);
  const CUresult result = driver_->cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (result != CUDA_SUCCESS) stream_ = before_capture_;
  check(result, "starting to record work");
  if (log_) log_->pause();
}

CUgraph Device::end_capture() {
  CUgraph graph = nullptr;
  if (log_) log_->resume();
  const CUresult result = driver_->cuStreamEndCapture(stream_, &graph);
  stream_ = before_capture_;
  check(result, "recording work");
  if (!graph) fail(ErrorName::device_failed, "CUDA recorded no graph");
  return graph;
}

void Device::abandon_capture() noexcept {
  CUgraph graph = nullptr;
  if (log_) log_->resume();
  driver_->cuStreamEndCapture(stream_, &graph);
  stream_ = before_capture_;
  if (graph) driver_->cuGraphDestroy(graph);
}

tsl::Device name_of(const Device& device) {
  static const uint8_t backend = backend_number(kBackendName);
  return {backend, static_cast<uint8_t>(device.ordinal())};
}

}  // namespace tsl::cuda
