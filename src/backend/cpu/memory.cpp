#include "backend/cpu/memory.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(data, bytes) static_cast<void>(0)
#endif

namespace tsl::cpu {

namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kHugePage = uint64_t{2} << 20;  // from here on blocks ask for huge pages: fewer page faults

uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

void* ask_system_once(uint64_t bytes) {
  if (bytes < kHugePage) return std::aligned_alloc(kAlignment, bytes);
  void* data = std::aligned_alloc(kHugePage, round_up(bytes, kHugePage));
  if (data) madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

CachingAllocator::CachingAllocator() {
  limit_ = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

CachingAllocator::~CachingAllocator() { release_cache(); }

// Class 4*e + q holds blocks of 2^e * (1 + q/4) bytes: at most a quarter of a block is wasted.
int CachingAllocator::class_of(uint64_t bytes) {
  if (bytes < kAlignment) bytes = kAlignment;
  const int e = std::bit_width(bytes) - 1;
  const uint64_t quarter = uint64_t{1} << (e - 2);
  const uint64_t q = (bytes - (uint64_t{1} << e) + quarter - 1) / quarter;
  return 4 * e + static_cast<int>(q);  // q == 4 is the next power of two's first class
}

uint64_t CachingAllocator::class_bytes(int size_class) {
  const uint64_t base = uint64_t{1} << (size_class / 4);
  return base + base / 4 * static_cast<uint64_t>(size_class % 4);
}

void* CachingAllocator::ask_system(uint64_t bytes) {
  ++stats_.system_allocations;
  void* data = ask_system_once(bytes);
  if (!data && stats_.cached_bytes > 0) {
    release_cache();
    data = ask_system_once(bytes);
  }
  return data;
}

Ref<Storage> CachingAllocator::allocate(uint64_t bytes) {
  const auto refuse = [&] {
    fail(ErrorKind::memory, "out of memory: {:.1f} MiB asked for, {:.1f} MiB in use by tensors",
         static_cast<double>(bytes) / (1 << 20), static_cast<double>(stats_.live_bytes) / (1 << 20));
  };
  if (bytes > limit_ || stats_.live_bytes + bytes > limit_) refuse();
  const uint64_t size = round_up(class_bytes(class_of(bytes)), kAlignment);
  std::vector<Storage*>& list = free_[class_of(size)];
  Storage* storage;
  if (!list.empty()) {
    storage = list.back();
    list.pop_back();
    stats_.cached_bytes -= storage->bytes();
  } else {
    void* data = ask_system(size);
    if (!data) refuse();
    storage = new Storage(this, data, size, Device{});
  }
  // The sanitizer sees blocks only as a tensor sees them: what is past its elements is not to be touched.
  ASAN_POISON_MEMORY_REGION(storage->data(), storage->bytes());
  ASAN_UNPOISON_MEMORY_REGION(storage->data(), bytes);
  stats_.live_bytes += storage->bytes();
  if (stats_.live_bytes > stats_.peak_bytes) stats_.peak_bytes = stats_.live_bytes;
#ifdef TSL_POISON
  std::memset(storage->data(), 0xFF, bytes);  // NaN in every float dtype
#endif
  return Ref<Storage>(storage);
}

void CachingAllocator::free(Storage* storage) {
  stats_.live_bytes -= storage->bytes();
  stats_.cached_bytes += storage->bytes();
  ASAN_POISON_MEMORY_REGION(storage->data(), storage->bytes());
  free_[class_of(storage->bytes())].push_back(storage);
}

void CachingAllocator::release_cache() {
  for (std::vector<Storage*>& list : free_) {
    for (Storage* storage : list) {
      stats_.cached_bytes -= storage->bytes();
      ASAN_UNPOISON_MEMORY_REGION(storage->data(), storage->bytes());
      std::free(storage->data());
      delete storage;
    }
    list.clear();
  }
}

}  // namespace tsl::cpu
