// Copies tensors from one device to another, and views memory of a GPU as tensors.
#pragma once

#include "backend/cuda/driver/gpu.h"
#include "tensor/tensor.h"

namespace tsl::cuda {

/// Copy a tensor with the same layout; a tensor that is already there is returned as it is. The host's copy uses the
/// memory of the host's allocator.
Tensor move_to_device(Gpu& gpu, const Tensor& host);
Tensor move_to_host(Gpu& gpu, const Tensor& tensor);
/// Copies from one GPU to another, directly where the hardware can. Returns at once.
Tensor move_between(Gpu& from, Gpu& to, const Tensor& tensor);
/// Returns memory of the GPU as a tensor, which borrows it: `first` is the address of element (0, 0, …).
Tensor borrow(Gpu& gpu, DType dtype, const Layout& layout, std::byte* first);

}  // namespace tsl::cuda
