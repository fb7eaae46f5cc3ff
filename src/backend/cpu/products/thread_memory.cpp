#include "backend/cpu/products/thread_memory.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/error_names.h"
#include "base/platform/memory_pages.h"

namespace tsl::cpu {

namespace {

// The size for which OpenBLAS is built. It is address space: a call writes to a few MiB of it.
constexpr size_t kBytes = size_t{128} << 20;

constinit thread_local void* memory_of_thread = nullptr;  // null while OpenBLAS uses it

/// The memory of all threads. Free blocks form a list, so that to return one allocates nothing.
class Blocks {
 public:
  void* take() {
    std::unique_lock lock(mutex_);
    while (!free_) {
      if (void* const made = platform::take_pages(kBytes)) {
        ++count_;
        return made;
      }
      if (count_ == 0) fail(ErrorName::out_of_memory, "out of memory: {} bytes of working space for products", kBytes);
      returned_.wait(lock);
    }
    return std::exchange(free_, *static_cast<void**>(free_));
  }

  void put(void* block) {
    const std::lock_guard lock(mutex_);
    *static_cast<void**>(block) = std::exchange(free_, block);
    returned_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  void* free_ = nullptr;  // a block holds the address of the next
  size_t count_ = 0;      // of all blocks
};

/// Returns the blocks of the process. They are never destroyed: a thread may compute while the process exits.
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

}  // namespace

ThreadMemory::ThreadMemory() : memory_(blocks().take()) { memory_of_thread = memory_; }

ThreadMemory::~ThreadMemory() {
  memory_of_thread = nullptr;
  blocks().put(memory_);
}

std::byte* ThreadMemory::of_thread() { return static_cast<std::byte*>(memory_of_thread); }

}  // namespace tsl::cpu

#if defined(TSL_OPENBLAS)
// These replace functions of the private copy of OpenBLAS (cmake/PrivateOpenBlas.cmake), whose own allocator tries for
// ever when there is no memory.
extern "C" {
void* blas_memory_alloc(int) { return std::exchange(tsl::cpu::memory_of_thread, nullptr); }
void blas_memory_free(void* memory) { tsl::cpu::memory_of_thread = memory; }
/// Ends OpenBLAS as the process exits, while other threads may use it.
void gotoblas_quit() {}
}
#endif
