#include "backend/cuda/driver/memory.h"

#include "base/error.h"

namespace tsl::cuda {

namespace {

// 512 bytes suit every vector access and cuBLASLt. From 1 MiB on, blocks are few and waste matters, so sizes are finer.
constexpr SizeClasses kClasses{512, uint64_t{1} << 20};

}  // namespace

DeviceAllocator::DeviceAllocator(Device& device, uint64_t limit)
    : BlockCache(name_of(device), kClasses), device_(device) {
  set_limit(limit);
}

DeviceAllocator::~DeviceAllocator() { release_cache(); }

void* DeviceAllocator::take_from_system(uint64_t bytes) {
  if (bytes > device_.properties().total_memory) return nullptr;
  ++device_.counters().driver_allocations;
  CUdeviceptr data = 0;
  const CUresult result = device_.driver().cuMemAlloc(&data, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  device_.check(result, "allocating memory");
  return reinterpret_cast<void*>(data);
}

// cuMemFree fails only after an error that every later call reports as well.
void DeviceAllocator::give_to_system(void* data, uint64_t) { device_.driver().cuMemFree(address_of(data)); }

void DeviceAllocator::synchronize() { device_.driver().cuStreamSynchronize(device_.stream()); }

void DeviceAllocator::on_hand_out([[maybe_unused]] Storage& storage, [[maybe_unused]] uint64_t bytes) {
#ifdef TSL_POISON
  device_.fill(address_of(storage.data()), 0xFF, bytes);  // NaN in every float dtype
#endif
}

std::string DeviceAllocator::describe_system() const {
  size_t free = 0, total = 0;
  if (device_.driver().cuMemGetInfo(&free, &total) != CUDA_SUCCESS) return {};
  return fmt::format("{} of the GPU's {} are free", describe_bytes(free), describe_bytes(total));
}

}  // namespace tsl::cuda
