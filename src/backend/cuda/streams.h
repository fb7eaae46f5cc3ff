// The streams of a GPU, as the host program sees them.
#pragma once

#include "backend/cuda/driver/device.h"
#include "exec/streams.h"

namespace tsl::cuda {

/// May be called while another context is current, and leaves that current.
class CudaStreams final : public exec::Streams {
 public:
  explicit CudaStreams(Device& device) : device_(device) {}
  exec::HostStream current() override;
  void use(exec::HostStream stream) override;
  void use_own() override;
  void wait_for(exec::HostStream stream) override;
  void signal(exec::HostStream stream) override;
  void synchronize() override;

 private:
  Device& device_;
};

}  // namespace tsl::cuda
