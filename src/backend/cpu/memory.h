// The CPU's caching allocator.
#pragma once

#include "tensor/block_cache.h"

namespace tsl::cpu {

/// Allocates 64-byte aligned blocks, large ones in huge pages. The limit is the memory that the process may use.
class CachingAllocator : public BlockCache {
 public:
  CachingAllocator();
  ~CachingAllocator() override;

 protected:
  void* take_from_system(uint64_t bytes) override;
  void give_to_system(void* data, uint64_t bytes) override;
  void on_hand_out(Storage& storage, uint64_t bytes) override;
  void on_take_back(Storage& storage) override;
};

}  // namespace tsl::cpu
