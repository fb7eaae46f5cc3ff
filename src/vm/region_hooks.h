// What the interpreter asks before it runs code that may be a region; interpreter.h says when. The engine answers with
// the tracer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"
#include "value/value.h"

namespace tsl {

struct Frame;
struct Loop;

class RegionHooks {
 public:
  virtual ~RegionHooks() = default;

  /// How a function is to be called that could be a region: as one, or interpreted (in an `open` frame, whose own
  /// calls and loops may be regions, if it was found not to make one).
  enum class CallMode : uint8_t { plain, open, region };
  virtual CallMode call_mode(const Value& function) = 0;
  /// Runs it. Moves the bound arguments out of `args`.
  virtual Value call_region(const Value& function, std::span<Value> args) = 0;
  /// Runs the body of a loop of the innermost frame once; gives the pc at which the frame goes on, or nothing if
  /// the body is to be interpreted.
  virtual std::optional<uint32_t> run_loop_body(Frame& frame, const Loop& loop) = 0;

  /// To be called before an error is handed to a `try` inside the traced region. May throw, and then it is not to be
  /// handed over.
  virtual void error_caught(ErrorKind kind) = 0;
  /// The interpreter has reached its step limit.
  virtual void out_of_steps() = 0;
};

}  // namespace tsl
