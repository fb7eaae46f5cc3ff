// The devices of one engine. Each is opened when a tensor first goes there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "exec/backend.h"

namespace tsl::exec {

class Devices {
 public:
  /// Opens a device that is not the host, or throws Failure (device).
  using Open = std::function<std::unique_ptr<exec::Backend>(Device)>;

  Devices(exec::Backend& host, Open open) : host_(host), open_(std::move(open)) {}
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// The device, ready to be used until another one is asked for.
  exec::Backend& at(Device device) {
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
  Counters counters(Device device) const;

 private:
  exec::Backend& activate(Device device);

  exec::Backend& host_;
  Open open_;
  std::map<std::pair<uint8_t, uint8_t>, std::unique_ptr<exec::Backend>> opened_;  // by backend and ordinal
  exec::Backend* active_ = nullptr;
  Device active_device_;
};

}  // namespace tsl::exec
