// Where kernels report that an op failed on an element.
#pragma once

#include "backend/cuda/driver/device.h"
#include "exec/executable.h"
#include "tensor/tensor.h"

namespace tsl::cuda {

/// A cell on the device, in which kernels record whose failure the program would have met first, and its mirror in the
/// host's memory, which they write after the cell: while nothing fails, looking costs no copy.
class ErrorReport {
 public:
  ErrorReport(Device& device, Allocator& allocator);
  ~ErrorReport();
  ErrorReport(const ErrorReport&) = delete;
  ErrorReport& operator=(const ErrorReport&) = delete;

  /// What kernels are given.
  CUdeviceptr cell() const;
  /// The first failure since the last call, or none. All that may report one must have run.
  exec::RunError take();
  /// Waits for all work and drops what it reported.
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
