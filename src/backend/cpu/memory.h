// The CPU's caching allocator.
#pragma once

#include "tensor/block_cache.h"

namespace tsl::cpu {

/// Blocks are 64-byte aligned, large ones of huge pages. Together they may take what memory the machine has.
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
