#include "backend/cuda/streams.h"

namespace tsl::cuda {

namespace {

/// Makes the device's context current during a scope.
class CurrentContext {
 public:
  explicit CurrentContext(const Device& device) : driver_(device.driver()) {
    driver_.cuCtxGetCurrent(&before_);
    device.make_current();
  }
  ~CurrentContext() { driver_.cuCtxSetCurrent(before_); }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  CUcontext before_ = nullptr;
};

CUstream handle_of(exec::HostStream stream) { return reinterpret_cast<CUstream>(stream); }

}  // namespace

exec::HostStream CudaStreams::current() { return reinterpret_cast<exec::HostStream>(device_.stream()); }

void CudaStreams::use(exec::HostStream stream) {
  const CurrentContext scope(device_);
  device_.use_stream(handle_of(stream));
}

void CudaStreams::use_own() {
  const CurrentContext scope(device_);
  device_.use_stream(device_.own_stream());
}

void CudaStreams::wait_for(exec::HostStream stream) {
  const CurrentContext scope(device_);
  device_.order(handle_of(stream), device_.stream());
}

void CudaStreams::signal(exec::HostStream stream) {
  const CurrentContext scope(device_);
  device_.order(device_.stream(), handle_of(stream));
}

void CudaStreams::synchronize() {
  const CurrentContext scope(device_);
  device_.synchronize();
}

}  // namespace tsl::cuda
