// Tensors that go from one device to another.
#pragma once

#include "backend/cuda/driver/gpu.h"
#include "tensor/tensor.h"

namespace tsl::cuda {

/// Copies with the same layout; a tensor that is there already is given back. The host's copy is in its allocator's
/// memory.
Tensor move_to_device(Gpu& gpu, const Tensor& host);
Tensor move_to_host(Gpu& gpu, const Tensor& tensor);
/// From one GPU to another, without the host in between where the hardware can. Returns at once.
Tensor move_between(Gpu& from, Gpu& to, const Tensor& tensor);

}  // namespace tsl::cuda
