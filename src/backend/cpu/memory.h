// The CPU's caching allocator.
#pragma once

#include <array>
#include <vector>

#include "tensor/tensor.h"

namespace tsl::cpu {

/// Blocks are 64-byte aligned, come in size classes (powers of two and three quarters between) and wait in lists
/// for reuse when freed. Fresh memory is given up to the system only by release_cache(), or when it runs out.
class CachingAllocator : public Allocator {
 public:
  CachingAllocator();
  ~CachingAllocator() override;
  Ref<Storage> allocate(uint64_t bytes) override;
  void free(Storage* storage) override;
  void release_cache() override;
  Stats stats() const override { return stats_; }

 private:
  static constexpr int kClasses = 4 * 48;
  static int class_of(uint64_t bytes);
  static uint64_t class_bytes(int size_class);
  void* ask_system(uint64_t bytes);

  std::array<std::vector<Storage*>, kClasses> free_;
  Stats stats_;
  uint64_t limit_;
};

}  // namespace tsl::cpu
