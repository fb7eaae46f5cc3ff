// The working memory of threads that call products, OpenBLAS or LAPACK.
#pragma once

#include <cstddef>

namespace tsl::cpu {

/// The working memory of one thread: each call of a product, of OpenBLAS and of LAPACK needs one of these around it.
class ThreadMemory {
 public:
  /// Takes memory that no thread uses, or new one. If there is none left, waits until another thread returns its own;
  /// throws Failure (memory) if no thread has any.
  ThreadMemory();
  ~ThreadMemory();
  /// Returns the memory of this thread, a few MiB of which may be used between calls. It begins with a page.
  static std::byte* of_thread();
  ThreadMemory(const ThreadMemory&) = delete;
  ThreadMemory& operator=(const ThreadMemory&) = delete;

 private:
  void* const memory_;
};

}  // namespace tsl::cpu
