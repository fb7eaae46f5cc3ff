#include "exec/devices.h"

#include <algorithm>

#include "base/error.h"
#include "exec/launch_sweep.h"
#include "exec/sharing_check.h"

namespace tsl::exec {

Devices::Devices(exec::Backend& host, Open open) : host_(host), open_(std::move(open)) {
  host_.set_instruments(instruments_);
}

Devices::~Devices() {
  try {
    deferred_errors_.flush();  // what runs belongs to the backends
  } catch (const Failure&) {
    // The engine ends, perhaps by an exception of the host.
  }
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
  if (backend) {
    backend->activate();
  } else {
    const ActivityScope scope(timeline(), ActivityKind::start_up);
    backend = open_(device);
    backend->set_instruments(instruments_);
    if (observe_memory_) observe_memory_(backend->allocator());
  }
  active_ = backend.get();
  active_device_ = device;
  return *backend;
}

void Devices::each_memory(std::function<void(BlockCache&)> observe) {
  observe_memory_ = std::move(observe);
  observe_memory_(host_.allocator());
  for (auto& [device, backend] : opened_) {
    if (backend) observe_memory_(backend->allocator());
  }
}

std::unique_ptr<Executable> Devices::compile(Device device, graph::Graph graph, const graph::PlanOptions& options) {
  exec::Backend& backend = at(device);
  const ActivityScope scope(timeline(), ActivityKind::compile);
  PlanObservers observers(instruments_.observers);
  PlanObserver* const observer = instruments_.observers.empty() ? nullptr : &observers;
  graph::Plan plan = graph::compile(std::move(graph), options, observer, &backend);
  if (options.autotune) autotune(*this, device, plan);
  std::unique_ptr<Executable> executable = backend.prepare(std::move(plan));
  if (checks_sharing()) executable = check_sharing(backend, std::move(executable));
  observers.on_executable(*executable);
  return executable;
}

Tensor Devices::to_host(const Tensor& tensor) {
  return tensor.device().is_host() ? wait_to_host(tensor) : waiting([&] { return wait_to_host(tensor); });
}

Tensor Devices::wait_to_host(const Tensor& tensor) {
  deferred_errors_.flush();
  exec::Backend& backend = at(tensor.device());
  const ActivityScope scope(timeline(), ActivityKind::to_host);
  if (tensor.device().is_host()) return tensor;
  return backend.to_host(tensor);
}

Tensor Devices::move(const Tensor& tensor, Device to) {
  Tensor moved;
  if (!tensor.device().is_host() && !to.is_host()) {
    deferred_errors_.flush();
    exec::Backend& from = at(tensor.device());
    moved = at(to).from_peer(tensor, from);
  }
  if (!moved) {
    moved = to_host(tensor);
    if (!to.is_host()) moved = to_device(moved, to);
  }
  Layout layout = Layout::contiguous(tensor.shape());
  layout.offset = moved.layout().offset;
  return moved.with_layout(layout);
}

Tensor Devices::to_device(const Tensor& host, Device to) {
  exec::Backend& backend = at(to);
  if (to.is_host()) return host;
  const ActivityScope scope(timeline(), ActivityKind::to_device);
  return backend.to_device(host);
}

void Devices::wait() {
  waiting([&] {
    wait_for_all();
    return true;
  });
}

void Devices::wait_for_all() {
  deferred_errors_.flush();
  for (const auto& [device, backend] : opened_) {
    if (!backend || !backend->streams()) continue;
    const ActivityScope scope(timeline(), ActivityKind::wait);
    backend->streams()->synchronize();
  }
}

const exec::Backend* Devices::opened(Device device) const {
  if (device.is_host()) return &host_;
  const auto found = opened_.find({device.backend, device.ordinal});
  return found == opened_.end() ? nullptr : found->second.get();
}

Counters Devices::counters(Device device) const {
  const exec::Backend* const backend = opened(device);
  return backend ? backend->counters() : Counters();
}

std::vector<std::pair<std::string, std::string>> Devices::code_key(Device device) const {
  const exec::Backend* const backend = opened(device);
  if (!backend) return {};
  return backend->code_key();
}

}  // namespace tsl::exec
