// The streams of a device, as the host program sees them.
#pragma once

#include <cstdint>

namespace tsl::exec {

/// A stream, as the device's driver names it.
using HostStream = intptr_t;

/// Orders the work of a device and that on streams of the host program, without waiting for either.
class Streams {
 public:
  virtual ~Streams() = default;
  /// Returns the stream on which the device's work runs.
  virtual HostStream current() = 0;
  /// Runs all later work on a stream of the host program's, after all earlier work.
  virtual void use(HostStream stream) = 0;
  /// Runs all later work on the device's own stream again.
  virtual void use_own() = 0;
  /// Makes later work of the device wait for all work enqueued so far on a stream.
  virtual void wait_for(HostStream stream) = 0;
  /// Makes later work on a stream wait for all work of the device enqueued so far.
  virtual void signal(HostStream stream) = 0;
  /// Waits for all work of the device.
  virtual void synchronize() = 0;
};

}  // namespace tsl::exec
