// The devices of one engine. Each is opened when a tensor first goes there.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "graph/plan.h"

namespace tsl::trace {

class Devices {
 public:
  /// Opens a device that is not the host, or throws Failure (device).
  using Open = std::function<std::unique_ptr<graph::Backend>(Device)>;

  Devices(graph::Backend& host, Open open) : host_(host), open_(std::move(open)) {}
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// The device, ready to be used until another one is asked for.
  graph::Backend& at(Device device) {
    if (device.is_host()) return host_;
    if (active_ && device == active_device_) return *active_;
    return activate(device);
  }

  /// The thread's device may be another one now, or this may be another thread.
  void forget_active() { active_ = nullptr; }

  /// The tensor in host memory; its layout may be another.
  Tensor to_host(const Tensor& tensor) { return at(tensor.device()).to_host(tensor); }
  /// A contiguous tensor on another device.
  Tensor move(const Tensor& tensor, Device to);

  /// What the device has done: nothing, if it has not been opened.
  graph::Counters counters(Device device) const;

 private:
  struct Opened {
    Device device;
    std::unique_ptr<graph::Backend> backend;  // null if opening it failed
  };

  graph::Backend& activate(Device device);

  graph::Backend& host_;
  Open open_;
  std::vector<Opened> opened_;  // few enough to be looked through
  graph::Backend* active_ = nullptr;
  Device active_device_;
};

}  // namespace tsl::trace
