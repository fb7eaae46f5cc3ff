// Receives from kernels that an op failed on an element.
#pragma once

#include "backend/cuda/driver/device.h"
#include "exec/executable.h"
#include "tensor/tensor.h"

namespace tsl::cuda {

/// Stores the failure that each run would have met first, in a cell on the device. Kernels also write a mirror in the
/// host's memory, after the cell, so that checking needs no copy while nothing fails. Runs that are waited for use one
/// cell, and each deferred run keeps its own until it is reported.
class ErrorReport {
 public:
  ErrorReport(Device& device, Allocator& allocator);
  ~ErrorReport();
  ErrorReport(const ErrorReport&) = delete;
  ErrorReport& operator=(const ErrorReport&) = delete;

  /// Returns the address of the current run's cell, an argument of kernels.
  CUdeviceptr cell() const;
  /// Returns the first failure of the current run, or none. All its kernels that may report one must have finished.
  exec::RunError take() { return take(current_); }
  /// Waits for all work and discards what the current run reported.
  void forget() noexcept;

  /// Ends the current run, which has been launched, and keeps its cell. Returns its number.
  uint32_t defer();
  /// Waits for a deferred run and returns its first failure, or none. Called once for each run, in their order.
  exec::RunError report(uint32_t run);

 private:
  struct Failure;
  struct Cell;
  exec::RunError take(uint32_t run);
  void clear(uint32_t run);

  Device& device_;
  Ref<Storage> cells_;          // of the deferred runs, then of the current one
  Failure* mirrors_ = nullptr;  // one per cell
  uint32_t current_ = 0;
  uint32_t finished_ = 0;  // deferred runs that have been waited for
};

}  // namespace tsl::cuda
