// A GPU as a backend: its memory, its kernels, and plans run on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "exec/backend.h"

namespace tsl::cuda {

struct BackendOptions {
  bool graphs = true;         // kernels are launched as CUDA graphs; if not, one by one
  uint64_t memory_limit = 0;  // the most bytes to take from the device; 0 for all it has
  bool tf32 = false;          // products of f32 may round their operands to 11 bits
  bool portable = false;      // functions of f32 and shorter floats give the CPU's bits
};

/// Throws Failure (device), naming what is missing, unless there is a driver that sees GPU `ordinal`, which is new
/// enough. Opens nothing on it.
void check_device(int ordinal);

/// Why GPU 0 cannot be used here, or "" if it can: for tests to skip with a reason.
std::string why_no_device();

/// Opens GPU `ordinal`. What its kernels do not do runs on `host`, which must outlive the backend and whose
/// memory takes tensors that are read. Belongs to one engine. Throws Failure (device) naming what is missing.
std::unique_ptr<exec::Backend> open_backend(int ordinal, exec::Backend& host, const BackendOptions& options = {});

}  // namespace tsl::cuda
