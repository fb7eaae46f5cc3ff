// The CUDA backend: GPU memory, kernels, and running plans.
#pragma once

#include <memory>
#include <string>

#include "exec/backend_registry.h"

namespace tsl::cuda {

/// Returns the entry that the engine registers. A build without the CUDA Toolkit's headers defines only this function.
exec::BackendEntry backend_entry();

/// Checks that a driver sees GPU `ordinal`, and that both are new enough; otherwise throws Failure (device), which
/// names what is missing. Opens nothing on the GPU.
void check_device(int ordinal);

/// Returns why GPU 0 cannot be used here, or "" if it can; tests are skipped with this reason.
std::string why_no_device();

/// Opens GPU `ordinal` for one engine. `host` runs what has no kernels for the GPU and allocates the host copies of
/// tensors; it must outlive the backend. Throws Failure (device), naming what is missing.
std::unique_ptr<exec::Backend> open_backend(int ordinal, exec::Backend& host, const exec::BackendOptions& options = {});

}  // namespace tsl::cuda
