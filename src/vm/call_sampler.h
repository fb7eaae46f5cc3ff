// Takes samples of what the interpreter runs, for a profile.
#pragma once

#include <string_view>

#include "vm/stack.h"

namespace tsl {

class CallSampler {
 public:
  virtual ~CallSampler() = default;
  /// Takes the sample that the engine's watch asks for, if its moment is over: what the frames have run until now,
  /// where each frame's pc is at the last instruction that may take long. `builtin`: a call of this one has just ended
  /// in the innermost frame; "": no call of a builtin.
  virtual void look(const FrameStack& frames, std::string_view builtin) = 0;
};

}  // namespace tsl
