// Follows the calls of a program, for the ranges of its ops: which function runs, called from where.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/range_table.h"
#include "vm/stack.h"

namespace tsl {

/// The path of calls from a frame on: functions with a name, and named ranges. A function of the library is a part of
/// it, and what that calls is not.
class CallPaths {
  struct Level {
    size_t frame = 0;
    uint64_t serial = 0;  // of the frame
    uint32_t range = 0;
    bool is_named = false, is_library = false;
    std::vector<std::pair<const Proto*, uint32_t>> calls = {};  // how often it has called each function
  };

 public:
  /// `numbers_calls`: calls of one function within one call are ranges of their own, for the layers of a model.
  CallPaths(const FrameStack& frames, RangeTable& ranges, bool numbers_calls)
      : frames_(frames), ranges_(ranges), numbers_calls_(numbers_calls) {}

  /// Begins a path anew, below the frames that there are.
  void begin() {
    first_ = frames_.size();
    is_new_ = true;
  }
  /// Returns the range of the running call.
  uint32_t current();
  /// Begins a named range, which lasts until leave().
  void enter(const std::string& name);
  void leave();

 private:
  void follow();
  void push(size_t frame);
  Level& innermost() { return levels_.empty() ? root_ : levels_.back(); }

  const FrameStack& frames_;
  RangeTable& ranges_;
  const bool numbers_calls_;
  size_t first_ = 0;
  bool is_new_ = false;  // what follows is of an earlier path
  Level root_ = {};      // what is below the path
  std::vector<Level> levels_ = {};
};

}  // namespace tsl
