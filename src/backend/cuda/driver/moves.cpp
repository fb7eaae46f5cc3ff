#include "backend/cuda/driver/moves.h"

#include <utility>

namespace tsl::cuda {

namespace {

/// Returns the elements that a layout can reach, as a range of its storage: the first, and how many.
std::pair<int64_t, int64_t> reached(const Layout& layout) {
  int64_t low = 0, high = 0;
  for (int i = 0; i < layout.rank(); ++i) {
    if (layout.shape[i].hint() == 0) return {0, 0};
    const int64_t far = (layout.shape[i].hint() - 1) * layout.strides[i].hint();
    (far < 0 ? low : high) += far;
  }
  return {low, high - low + 1};
}

/// Copies the part of a tensor's memory that its layout reaches, and views the copy through the same layout.
template <class Copy> Tensor copy_of(const Tensor& tensor, Allocator& to, Copy&& copy) {
  const auto [first, count] = reached(tensor.layout());
  const uint64_t size = size_of(tensor.dtype());
  const Ref<Storage> storage = to.allocate(static_cast<uint64_t>(count) * size);
  if (count > 0)
    copy(storage->data(), tensor.data() + first * static_cast<int64_t>(size), static_cast<uint64_t>(count) * size);
  Layout layout = tensor.layout();
  layout.offset = -first;
  return Tensor(tensor.dtype(), layout, storage);
}

}  // namespace

Tensor move_to_device(Gpu& gpu, const Tensor& host) {
  if (!host.device().is_host()) return host;
  return copy_of(host, gpu.allocator, [&](void* to, const std::byte* from, uint64_t bytes) {
    gpu.device.copy_to_device(address_of(to), from, bytes);
  });
}

Tensor move_to_host(Gpu& gpu, const Tensor& tensor) {
  if (tensor.device().is_host()) return tensor;
  return copy_of(tensor, gpu.host.allocator(), [&](void* to, const std::byte* from, uint64_t bytes) {
    gpu.device.copy_to_host(to, address_of(from), bytes);
  });
}

Tensor move_between(Gpu& from, Gpu& to, const Tensor& tensor) {
  return copy_of(tensor, to.allocator, [&](void* there, const std::byte* here, uint64_t bytes) {
    to.device.copy_from(from.device, address_of(there), address_of(here), bytes);
  });
}

Tensor borrow(Gpu& gpu, DType dtype, const Layout& layout, std::byte* first) {
  const auto [low, count] = reached(layout);
  const auto size = static_cast<int64_t>(size_of(dtype));
  Layout in_memory = layout;
  in_memory.offset = -low;
  const auto bytes = static_cast<size_t>(count * size);
  return {dtype, in_memory, Ref<Storage>(new Storage(nullptr, first + low * size, bytes, name_of(gpu.device)))};
}

}  // namespace tsl::cuda
