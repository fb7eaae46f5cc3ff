// The devices of one engine. Each is opened when a tensor is first placed on it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "exec/backend.h"
#include "exec/deferred_errors.h"

namespace tsl::exec {

/// Told when the host waits for a device, whose work may wait for others.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;
  virtual void begin_wait() = 0;
  /// Throws Failure if what the device has done is void.
  virtual void end_wait() = 0;
};

class Devices {
 public:
  /// Opens a device that is not the host, or throws Failure (device).
  using Open = std::function<std::unique_ptr<exec::Backend>(Device)>;

  Devices(exec::Backend& host, Open open);
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// Returns the device and makes it active, until another one is requested.
  exec::Backend& at(Device device) {
    if (device.is_host()) return host_;
    if (active_ && device == active_device_) return *active_;
    return activate(device);
  }

  /// Calls observe(memory) for each device, also for those that are opened later.
  void each_memory(std::function<void(BlockCache&)> observe);

  /// Sets the most elements of a tensor that a compiled function makes.
  void limit_elements(int64_t elements) { element_limit_ = elements; }
  int64_t element_limit() const { return element_limit_; }

  /// Forgets which device is active: the thread's device may have changed, or the thread.
  void forget_active() { active_ = nullptr; }

  /// Compiles a graph for a device: an executable that is ready to run.
  std::unique_ptr<Executable> compile(Device device, graph::Graph graph, const graph::PlanOptions& options);

  /// Copies a tensor to host memory; the layout may change.
  Tensor to_host(const Tensor& tensor);
  /// Copies a tensor of host memory to a device; the layout may change.
  Tensor to_device(const Tensor& host, Device to);
  /// Copies a tensor to another device; the copy is contiguous.
  Tensor move(const Tensor& tensor, Device to);

  /// Sets who is told of waits; null: nobody.
  void observe_waits(WaitObserver* observer) { wait_observer_ = observer; }

  /// Waits until all devices have done what they were given. Throws the error of a deferred run.
  void wait();

  /// Returns the device's counters: all 0 if it has not been opened.
  Counters counters(Device device) const;

  /// Returns what a device's code depends on (Backend::code_key); nothing if it has not been opened.
  std::vector<std::pair<std::string, std::string>> code_key(Device device) const;

  /// The observers of all devices.
  Instruments& instruments() { return instruments_; }
  Timeline* timeline() const { return instruments_.timeline; }
  /// The errors that may still be raised. Copies to other devices flush them.
  DeferredErrors& deferred_errors() { return deferred_errors_; }

 private:
  exec::Backend& activate(Device device);
  /// Returns the host's backend, or that of a device that has been opened; else null.
  const exec::Backend* opened(Device device) const;

  Tensor wait_to_host(const Tensor& tensor);
  void wait_for_all();
  /// Calls what may wait for a device. What the observer throws comes before what `work` does.
  template <class Work> auto waiting(Work&& work) {
    if (!wait_observer_) return work();
    wait_observer_->begin_wait();
    auto result = [&] {
      try {
        return work();
      } catch (...) {
        wait_observer_->end_wait();
        throw;
      }
    }();
    wait_observer_->end_wait();
    return result;
  }

  exec::Backend& host_;
  WaitObserver* wait_observer_ = nullptr;
  Open open_;
  int64_t element_limit_ = kMaxTensorBytes;
  std::function<void(BlockCache&)> observe_memory_;  // may be empty
  Instruments instruments_;
  std::map<std::pair<uint8_t, uint8_t>, std::unique_ptr<exec::Backend>> opened_;  // by backend and ordinal
  exec::Backend* active_ = nullptr;
  Device active_device_;
  DeferredErrors deferred_errors_{*this};
};

}  // namespace tsl::exec
