// A GPU as a backend: its memory, its kernels, and plans run on it.
#pragma once

#include <memory>
#include <string>

#include "exec/backend_registry.h"

namespace tsl::cuda {

/// What the engine registers. In a build without the CUDA Toolkit's headers, this alone is defined.
exec::BackendEntry backend_entry();

/// Throws Failure (device), naming what is missing, unless there is a driver that sees GPU `ordinal`, which is new
/// enough. Opens nothing on it.
void check_device(int ordinal);

/// Why GPU 0 cannot be used here, or "" if it can: for tests to skip with a reason.
std::string why_no_device();

/// Opens GPU `ordinal`. What its kernels do not do runs on `host`, which must outlive the backend and whose
/// memory takes tensors that are read. Belongs to one engine. Throws Failure (device) naming what is missing.
std::unique_ptr<exec::Backend> open_backend(int ordinal, exec::Backend& host, const exec::BackendOptions& options = {});

}  // namespace tsl::cuda
