// One GPU: its context, its stream, its properties, and copies between it and the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/driver/driver.h"
#include "backend/cuda/driver/nvrtc.h"
#include "backend/cuda/driver/staging.h"
#include "backend/cuda/source/device_facts.h"
#include "tensor/tensor.h"

namespace tsl::cuda {

class WorkLog;

/// What a device has done since it was opened, or since the caller last reset these counters.
struct Counters {
  uint64_t bytes_to_device = 0;
  uint64_t bytes_to_host = 0;
  uint64_t bytes_on_device = 0;  // copied within the device, or from another GPU
  uint64_t kernel_launches = 0;  // outside CUDA graphs; a product by cuBLASLt counts as one
  uint64_t graph_launches = 0;
  uint64_t graph_kernels = 0;       // kernels in launched graphs
  uint64_t driver_allocations = 0;  // calls of cuMemAlloc
};

/// The capabilities of the hardware.
struct Properties {
  std::string name;  // "NVIDIA H200"
  std::string arch;  // "sm_90"
  int compute_major = 0, compute_minor = 0;
  uint64_t total_memory = 0;
  uint64_t cache_bytes = 0;                              // of the second-level cache
  uint64_t shared_bytes_per_block = uint64_t{48} << 10;  // the most that a kernel may reserve
  int multiprocessors = 1;
  int threads_per_multiprocessor = 1;  // that can run at the same time
};

/// Returns what the choice of kernels depends on. `tf32`: BackendOptions::tf32.
DeviceFacts facts_of(const Properties& properties, bool tf32);

/// Returns the driver's handle of GPU `ordinal`. Fails (device) if the driver sees no such GPU.
CUdevice find_device(const Driver& driver, int ordinal);
/// Reads the GPU's properties. Fails (device) if it is too old for TSL.
Properties properties_of(const Driver& driver, CUdevice device);

/// The name of this backend in the names of devices.
inline constexpr std::string_view kBackendName = "cuda";

struct Launch {
  CUfunction function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;  // of a block, dynamic
};

/// Owns a reference to the device's primary context. All work runs on one stream at a time, in the order of the calls:
/// on a non-blocking one of its own, or on one of the host program's. A Device belongs to one engine, and so to one
/// thread at a time; that thread must have called make_current() (the constructor does). Everything created on the
/// device must be destroyed first. Errors are Failures (device or memory); an error inside a kernel is reported by a
/// later call.
class Device {
 public:
  explicit Device(int ordinal = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  const Driver& driver() const { return *driver_; }
  const Properties& properties() const { return properties_; }
  const std::string& arch() const { return properties_.arch; }
  NvrtcTarget nvrtc_target() const { return {driver_->version_number(), properties_.arch}; }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }
  CUstream own_stream() const { return own_stream_; }
  /// Runs all later work on another stream, after all earlier work. It must exist until this is called again.
  void use_stream(CUstream stream);
  /// Makes work enqueued later on `after` wait for all work enqueued so far on `before`.
  void order(CUstream before, CUstream after) const;
  /// Returns the log of a profile that all calls below write to, or null.
  WorkLog* log() const { return log_; }
  void set_log(WorkLog* log) { log_ = log; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }

  void check(CUresult result, std::string_view doing) const { driver_->check(result, doing); }

  /// Makes the context the calling thread's current one.
  void make_current() const;
  /// Waits for all work on the stream.
  void synchronize() const;

  /// Returns as soon as `from` may be changed; the copy itself is ordered on the stream.
  void copy_to_device(CUdeviceptr to, const void* from, uint64_t bytes);
  /// Returns when the bytes have arrived, after all earlier work.
  void copy_to_host(void* to, CUdeviceptr from, uint64_t bytes);
  /// Copies in stream order. The ranges must not overlap.
  void copy_on_device(CUdeviceptr to, CUdeviceptr from, uint64_t bytes);
  /// Copies from another GPU, after all earlier work there and before all later work there. This device's context must
  /// be current, and remains so.
  void copy_from(Device& other, CUdeviceptr to, CUdeviceptr from, uint64_t bytes);
  void fill(CUdeviceptr at, unsigned char value, uint64_t bytes);

  /// Launches a kernel. `arguments` are pointers to its parameters.
  void launch(const Launch& launch, void** arguments, std::string_view name);
  /// As launch(), and counts nothing: the launch is part of an op's, which is counted.
  void launch_part(const Launch& launch, void** arguments, std::string_view name);
  void launch_graph(CUgraphExec graph, std::string_view name);

  /// Records the work that `work` enqueues instead of running it; the caller owns the graph. `work` must not copy from
  /// or to the host, allocate or synchronise. If it throws, the stream remains usable.
  template <class Work> CUgraph capture(Work&& work) {
    begin_capture();
    try {
      work();
    } catch (...) {
      abandon_capture();
      throw;
    }
    return end_capture();
  }

 private:
  void close() noexcept;
  void allow_access(const Device& other);
  /// Makes later work of this device wait for all work enqueued so far on the other one.
  void wait_for(const Device& other) const;
  Staging& staging();
  void begin_capture();
  CUgraph end_capture();
  void abandon_capture() noexcept;

  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  CUstream own_stream_ = nullptr;
  CUstream stream_ = nullptr;          // own_stream_, or one of the host program's
  CUstream before_capture_ = nullptr;  // stream_, while work is recorded on own_stream_
  Properties properties_;
  Counters counters_;
  std::vector<CUcontext> peers_;  // contexts whose memory this device may access
  WorkLog* log_ = nullptr;
  std::unique_ptr<Staging> staging_;  // allocated by the first copy
};

/// Returns the device as tensors name it.
tsl::Device name_of(const Device& device);

}  // namespace tsl::cuda
