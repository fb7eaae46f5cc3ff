// The GPU's caching allocator.
#pragma once

#include "backend/cuda/driver/device.h"
#include "tensor/block_cache.h"

namespace tsl::cuda {

/// Blocks are 512-byte aligned and keep their addresses. All work is on the device's one stream, so a freed block may
/// be handed out again at once: its next user runs after its last one.
class DeviceAllocator : public BlockCache {
 public:
  /// `limit`: the most bytes to take from the device; 0 for all it has.
  explicit DeviceAllocator(Device& device, uint64_t limit = 0);
  ~DeviceAllocator() override;

 protected:
  void* take_from_system(uint64_t bytes) override;
  void give_to_system(void* data, uint64_t bytes) override;
  void settle() override;
  void on_hand_out(Storage& storage, uint64_t bytes) override;
  std::string describe_system() const override;

 private:
  Device& device_;
};

/// A storage's (or pointer's) address as the driver wants it.
inline CUdeviceptr address_of(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

}  // namespace tsl::cuda
