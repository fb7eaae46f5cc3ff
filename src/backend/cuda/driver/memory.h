// The GPU's caching allocator.
#pragma once

#include "backend/cuda/driver/device.h"
#include "tensor/block_cache.h"

namespace tsl::cuda {

/// Allocates 512-byte aligned blocks with fixed addresses. All work is in the order of the device's stream, so a freed
/// block can be reused at once: the next user's work runs after the last one's.
class DeviceAllocator : public BlockCache {
 public:
  /// `limit`: the most bytes to take from the device; 0: no limit.
  explicit DeviceAllocator(Device& device, uint64_t limit = 0);
  ~DeviceAllocator() override;

 protected:
  void* take_from_system(uint64_t bytes) override;
  void give_to_system(void* data, uint64_t bytes) override;
  void synchronize() override;
  void on_hand_out(Storage& storage, uint64_t bytes) override;
  std::string describe_system() const override;

 private:
  Device& device_;
};

/// Converts a storage's address, or a pointer, to the driver's type.
inline CUdeviceptr address_of(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

}  // namespace tsl::cuda
