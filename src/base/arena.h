// A bump allocator for trees whose nodes are freed together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/run_watch.h"

namespace tsl {

/// Allocates memory that is freed all at once. Destructors are not run, so only trivially destructible types are
/// accepted. Not thread-safe.
class Arena {
 public:
  /// Counts its memory towards the limit of the run that makes the nodes, and frees them: make() and copy() then throw
  /// Failure (limit).
  void count() { is_counted_ = true; }

  template <class T, class... Args> T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  template <class T> std::span<T> copy(const std::vector<T>& items) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    if (items.empty()) return {};
    T* memory = static_cast<T*>(allocate(sizeof(T) * items.size(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), memory);
    return {memory, items.size()};
  }

 private:
  static constexpr size_t kBlockSize = 16 * 1024;

  void* allocate(size_t size, size_t align) {
    uintptr_t start = (next_ + align - 1) & ~(uintptr_t{align} - 1);
    if (blocks_.empty() || start + size > end_) {
      const size_t block = size + align > kBlockSize ? size + align : kBlockSize;
      if (is_counted_) bytes_.add(block);
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block));
      next_ = reinterpret_cast<uintptr_t>(blocks_.back().get());
      end_ = next_ + block;
      start = (next_ + align - 1) & ~(uintptr_t{align} - 1);
    }
    next_ = start + size;
    return reinterpret_cast<void*>(start);
  }

  bool is_counted_ = false;
  GrowingBytes bytes_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  uintptr_t next_ = 0;
  uintptr_t end_ = 0;
};

}  // namespace tsl
