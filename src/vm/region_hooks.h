// The interface that the interpreter calls before it runs code that may be a region; interpreter.h describes when. The
// tracer implements it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/error.h"
#include "value/value.h"

namespace tsl {

struct Frame;
struct Loop;
struct Proto;

class RegionHooks {
 public:
  virtual ~RegionHooks() = default;

  /// How a function that could be a region is called: as one (`region`), or interpreted. `open`: it cannot be a region
  /// itself, but its own calls and loops may. `interpreted`: nothing that it calls may.
  enum class CallMode : uint8_t { plain, open, region, interpreted };
  virtual CallMode call_mode(const Value& function) = 0;
  /// Runs a function as a region. Moves the bound arguments out of `args`.
  virtual Value call_region(const Value& function, std::span<Value> args) = 0;
  /// Runs the body of a loop of the innermost frame once. Returns the pc at which the frame continues, or nothing if
  /// the body must be interpreted.
  virtual std::optional<uint32_t> run_loop_body(Frame& frame, const Loop& loop) = 0;

  /// Called before a `try` inside the traced region catches an error. If it throws, the `try` does not catch the error.
  virtual void error_caught(ErrorKind kind) = 0;
  /// Called for a new error, while all variables have their values. May add notes. What it throws takes the error's
  /// place.
  virtual void failed(Failure&) {}
  /// Called when the interpreter has reached its step limit.
  virtual void out_of_steps() = 0;

  /// Calls visit(value) for each value and cell that the regions of a function and of its loops refer to.
  virtual void each_reference(const Proto& function, const std::function<void(const Value&)>& visit) const = 0;
  /// Frees the regions of a function and of its loops: nothing can run it any more.
  virtual void forget_regions(const Proto& function) = 0;
};

}  // namespace tsl
