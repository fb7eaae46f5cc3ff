// The interface of a device: its memory, and running plans on it.
#pragma once

#include <memory>
#include <string>

#include "exec/executable.h"
#include "exec/instruments.h"
#include "graph/target.h"
#include "tensor/block_cache.h"
#include "tensor/counters.h"

namespace tsl::exec {

/// One device, with its memory and the means to run plans on it.
class Backend : public graph::Target {
 public:
  virtual BlockCache& allocator() = 0;
  virtual std::unique_ptr<Executable> prepare(graph::Plan plan) = 0;
  bool has_epilogue(const graph::Node&) override { return false; }
  /// Copies a tensor from host memory to the device; returns the same tensor if the device is the host.
  virtual Tensor to_device(const Tensor& host) { return host; }
  /// Copies a tensor of the device to host memory, after all launches; the layout may change.
  virtual Tensor to_host(const Tensor& tensor) { return tensor; }
  /// Copies a tensor of another device to this one without going through the host; null if that is impossible. This
  /// device must be active.
  virtual Tensor from_peer(const Tensor&, Backend&) { return {}; }
  /// Called when the device is used again after another device was.
  virtual void activate() {}
  virtual Counters counters() const = 0;
  /// Returns the name of the hardware: "NVIDIA H200".
  virtual std::string hardware() const { return ""; }

  /// Sets the observers, which must outlive the backend's use.
  void set_instruments(const Instruments& instruments) { instruments_ = &instruments; }
  /// Returns the timeline of the engine, or null.
  Timeline* timeline() const { return instruments_ ? instruments_->timeline : nullptr; }
  std::span<PlanObserver* const> observers() const {
    if (!instruments_) return {};
    return instruments_->observers;
  }

 private:
  const Instruments* instruments_ = nullptr;
};

}  // namespace tsl::exec
