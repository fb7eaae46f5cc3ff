#include "exec/devices.h"

#include "base/error.h"

namespace tsl::trace {

Devices::~Devices() {
  for (auto& backend : opened_) {
    try {
      if (backend) backend->activate();
    } catch (const Failure&) {
      // Of a GPU that has failed for good, which was reported where it did, what the driver still takes is given back.
    }
    backend.reset();
  }
}

graph::Backend& Devices::activate(Device device) {
  if (opened_.size() <= device.ordinal) opened_.resize(device.ordinal + size_t{1});
  std::unique_ptr<graph::Backend>& backend = opened_[device.ordinal];
  active_ = nullptr;  // in case that opening fails half-way
  if (!backend) backend = open_(device);
  else backend->activate();
  active_ = backend.get();
  active_device_ = device;
  return *backend;
}

Tensor Devices::move(const Tensor& tensor, Device to) {
  Tensor moved;
  if (!tensor.device().is_host() && !to.is_host()) {
    graph::Backend& from = at(tensor.device());
    moved = at(to).from_peer(tensor, from);
  }
  if (!moved) {
    moved = to_host(tensor);
    if (!to.is_host()) moved = at(to).to_device(moved);
  }
  Layout layout = Layout::contiguous(tensor.shape());
  layout.offset = moved.layout().offset;
  return moved.with_layout(layout);
}

graph::Counters Devices::counters(Device device) const {
  if (device.is_host()) return host_.counters();
  const bool is_open = device.ordinal < opened_.size() && opened_[device.ordinal];
  return is_open ? opened_[device.ordinal]->counters() : graph::Counters();
}

}  // namespace tsl::trace
