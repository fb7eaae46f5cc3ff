// The choices of generated code that cannot change a result's bits: how many threads share the work, and what each
// takes at a time. The reduction order depends on none of them.
#pragma once

namespace tsl::cuda {

/// The usual choices are the defaults.
struct LaunchParameters {
  int pointwise_threads = 128;  // of a block
  int pointwise_bytes = 16;     // that a thread reads or writes of a tensor at a time, at most
  int transpose_tile = 64;      // the largest side of a square that passes through shared memory
  int row_threads = 0;  // for each row that is one block of the reduction order; 0: by length and number of rows
  int resident_threads = 1024;  // that share a multiprocessor in reductions that hold many loads: limits registers
  bool is_joined = false;       // with equal kernels in a launch: a text for rows of any length saves launches

  friend bool operator==(const LaunchParameters&, const LaunchParameters&) = default;
};

}  // namespace tsl::cuda
