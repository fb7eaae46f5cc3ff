#include "exec/devices.h"

#include <algorithm>

#include "base/error.h"

namespace tsl::trace {

Devices::~Devices() {
  for (auto& [device, backend] : opened_) {
    try {
      if (backend) backend->activate();
    } catch (const Failure&) {
      // Of a GPU that has failed for good, which was reported where it did, what the driver still takes is given back.
    }
    backend.reset();
  }
}

graph::Backend& Devices::activate(Device device) {
  const auto has_device = [&](const Opened& opened) { return opened.device == device; };
  auto at = std::find_if(opened_.begin(), opened_.end(), has_device);
  if (at == opened_.end()) at = opened_.insert(at, Opened{device, nullptr});
  std::unique_ptr<graph::Backend>& backend = at->backend;
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
  for (const Opened& opened : opened_) {
    if (opened.device == device && opened.backend) return opened.backend->counters();
  }
  return {};
}

}  // namespace tsl::trace
