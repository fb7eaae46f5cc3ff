// The working memory of OpenBLAS. TSL provides it, because OpenBLAS's own allocator tries for ever when there is none.
#pragma once

#include <cstddef>

namespace tsl::cpu {

/// The memory of one thread for its calls of OpenBLAS and LAPACK: each call needs one of these around it.
class BlasMemory {
 public:
  /// Takes memory that no thread uses, or new one. If there is none left, waits until another thread returns its own;
  /// throws Failure (memory) if no thread has any.
  BlasMemory();
  ~BlasMemory();
  BlasMemory(const BlasMemory&) = delete;
  BlasMemory& operator=(const BlasMemory&) = delete;

 private:
  void* const memory_;
};

}  // namespace tsl::cpu
