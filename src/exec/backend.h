// The interface of a device: its memory, and how plans run on it.
#pragma once

#include <memory>

#include "exec/executable.h"
#include "graph/target.h"
#include "tensor/counters.h"

namespace tsl::exec {

/// One device: its memory, and how plans run on it.
class Backend : public graph::Target {
 public:
  virtual Allocator& allocator() = 0;
  virtual std::unique_ptr<Executable> prepare(graph::Plan plan) = 0;
  bool has_epilogue(const graph::Node&) override { return false; }
  /// A tensor in host memory, moved to the device: the same one if the device is the host.
  virtual Tensor to_device(const Tensor& host) { return host; }
  /// A tensor of the device in host memory, after all that was launched; its layout may be another.
  virtual Tensor to_host(const Tensor& tensor) { return tensor; }
  /// A tensor of another device, copied to this one without the host in between; null where there is no such way. This
  /// is the device in use.
  virtual Tensor from_peer(const Tensor&, Backend&) { return {}; }
  /// Called before the device is used again after another one was.
  virtual void activate() {}
  virtual Counters counters() const = 0;
};

}  // namespace tsl::exec
