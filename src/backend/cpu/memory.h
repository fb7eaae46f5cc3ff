// The CPU's caching allocator.
#pragma once

#include "tensor/block_cache.h"

namespace tsl::cpu {

/// Functions of the host program that allocate in place of the system; null: there are none.
struct HostMemory {
  void* (*allocate)(void* user, size_t bytes, size_t alignment) = nullptr;
  void (*free)(void* user, void* data, size_t bytes) = nullptr;
  void* user = nullptr;
};

/// Allocates 64-byte aligned blocks, large ones in huge pages. The limit is the memory that the process may use.
class CachingAllocator : public BlockCache {
 public:
  CachingAllocator();
  ~CachingAllocator() override;
  /// Allocates by functions of the host program from now on. No block must have been allocated.
  void use(const HostMemory& memory) { memory_ = memory; }

 protected:
  void* take_from_system(uint64_t bytes) override;
  void give_to_system(void* data, uint64_t bytes) override;
  void on_hand_out(Storage& storage, uint64_t bytes) override;
  void on_take_back(Storage& storage) override;

 private:
  HostMemory memory_;
};

}  // namespace tsl::cpu
