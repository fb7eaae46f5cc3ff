#include "exec/devices.h"

#include <algorithm>

#include "base/error.h"

namespace tsl::exec {

Devices::~Devices() {
  for (auto& [device, backend] : opened_) {
    try {
      if (backend) backend->activate();
    } catch (const Failure&) {
      // The GPU has failed for good, which was reported where it happened. The driver releases what it still can.
    }
    backend.reset();
  }
}

exec::Backend& Devices::activate(Device device) {
  std::unique_ptr<exec::Backend>& backend = opened_[{device.backend, device.ordinal}];
  active_ = nullptr;  // in case opening fails half-way
  if (!backend) backend = open_(device);
  else backend->activate();
  active_ = backend.get();
  active_device_ = device;
  return *backend;
}

Tensor Devices::move(const Tensor& tensor, Device to) {
  Tensor moved;
  if (!tensor.device().is_host() && !to.is_host()) {
    exec::Backend& from = at(tensor.device());
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

Counters Devices::counters(Device device) const {
  if (device.is_host()) return host_.counters();
  const auto found = opened_.find({device.backend, device.ordinal});
  return found != opened_.end() && found->second ? found->second->counters() : Counters();
}

}  // namespace tsl::exec
