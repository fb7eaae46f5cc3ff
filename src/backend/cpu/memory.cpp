#include "backend/cpu/memory.h"

#include <cstdlib>
#include <cstring>

#include "base/integers.h"
#include "base/platform/machine.h"
#include "base/platform/memory_pages.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(data, bytes) static_cast<void>(0)
#endif

namespace tsl::cpu {

namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kHugePage = uint64_t{2} << 20;  // larger blocks request huge pages, for fewer page faults

}  // namespace

CachingAllocator::CachingAllocator() : BlockCache(Device{}, {kAlignment}) {
  set_limit(platform::machine_limits().memory);
}

CachingAllocator::~CachingAllocator() { release_cache(); }

void* CachingAllocator::take_from_system(uint64_t bytes) {
  if (memory_.allocate) return memory_.allocate(memory_.user, bytes, kAlignment);
  if (bytes < kHugePage) return std::aligned_alloc(kAlignment, bytes);
  void* data = std::aligned_alloc(kHugePage, rounded_up(bytes, kHugePage));
  if (data) platform::ask_for_large_pages(data, bytes);
  return data;
}

void CachingAllocator::give_to_system(void* data, [[maybe_unused]] uint64_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(data, bytes);
  if (memory_.free) memory_.free(memory_.user, data, bytes);
  else std::free(data);
}

void CachingAllocator::on_hand_out([[maybe_unused]] Storage& storage, [[maybe_unused]] uint64_t bytes) {
  // Marks the bytes beyond the tensor's elements as invalid for the sanitizer.
  ASAN_POISON_MEMORY_REGION(storage.data(), storage.bytes());
  ASAN_UNPOISON_MEMORY_REGION(storage.data(), bytes);
#ifdef TSL_POISON
  std::memset(storage.data(), 0xFF, bytes);  // NaN in every float dtype
#endif
}

void CachingAllocator::on_take_back([[maybe_unused]] Storage& storage) {
  ASAN_POISON_MEMORY_REGION(storage.data(), storage.bytes());
}

}  // namespace tsl::cpu
