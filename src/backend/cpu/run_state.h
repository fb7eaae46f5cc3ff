// The state that the kernels of a running plan share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cpu/threads.h"
#include "exec/executable.h"

namespace tsl::cpu {

/// Scratch memory of one worker. Grows to the largest request and is kept.
class Scratch {
 public:
  std::byte* reserve(size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

/// The state that the kernels of a running plan share.
struct RunState {
  std::byte* const* buffers = nullptr;  // by plan buffer: address of element 0
  const Scalar* symbols = nullptr;      // by symbol id
  ThreadPool* pool = nullptr;
  std::vector<Scratch>* scratch = nullptr;  // one per worker
  Scratch* shared = nullptr;                // partial results of reductions
  std::byte* shared_memory = nullptr;       // the part of `shared` that the running kernel has reserved
  exec::RunError error;                     // the earliest failure in program order
  std::mutex error_mutex;

  /// Stores an error, if the program would have met it before the stored one: by node, then by element.
  void report(uint32_t order, graph::NodeId node, int64_t element, int64_t value);

 private:
  int64_t error_element_ = 0;
};

}  // namespace tsl::cpu
