// Receives from kernels that an op failed on an element.
#pragma once

#include "backend/cuda/driver/device.h"
#include "exec/executable.h"
#include "tensor/tensor.h"

namespace tsl::cuda {

/// Stores the failure that the program would have met first, in a cell on the device. Kernels also write a mirror in
/// the host's memory, after the cell, so that checking needs no copy while nothing fails.
class ErrorReport {
 public:
  ErrorReport(Device& device, Allocator& allocator);
  ~ErrorReport();
  ErrorReport(const ErrorReport&) = delete;
  ErrorReport& operator=(const ErrorReport&) = delete;

  /// Returns the cell's address, an argument of kernels.
  CUdeviceptr cell() const;
  /// Returns the first failure since the last call, or none. All kernels that may report one must have finished.
  exec::RunError take();
  /// Waits for all work and discards what it reported.
  void forget() noexcept;

 private:
  struct Failure;
  struct Cell;
  void clear();

  Device& device_;
  Ref<Storage> cell_;
  Failure* mirror_ = nullptr;
};

}  // namespace tsl::cuda
