// The interpreter's stacks: registers and frames. Neither ever moves, so pointers into them stay valid.
#pragma once

#include <cstdint>
#include <memory>

#include "bytecode/bytecode.h"
#include "value/value.h"

namespace tsl {

/// A function being run.
struct Frame {
  static constexpr uint32_t kEntry = 1;  // entered from C++: its return ends a run
  static constexpr uint32_t kOpen = 2;   // its calls and loops may become regions

  const Instruction* pc;  // the instruction being executed; up to date whenever other code can see the frame
  Value* base;            // register 0; base[-1] holds the function, and then its result
  const Proto* proto;
  uint32_t flags;

  uint32_t pc_index() const { return static_cast<uint32_t>(pc - proto->code.data()); }
  Value* end() const { return base + proto->register_count; }
  const Function& function() const { return base[-1].as<Function>(); }
};

/// The registers of all frames. Memory is taken at once but touched only as the stack grows. What lies above the
/// frames is always nil or immediate, and no symbol.
class ValueStack {
 public:
  // Deep recursion is limited by frames first, unless functions have very many variables.
  static constexpr size_t kCapacity = size_t{1} << 21;

  ValueStack();
  ~ValueStack();
  ValueStack(const ValueStack&) = delete;
  ValueStack& operator=(const ValueStack&) = delete;

  Value* begin() { return values_; }
  /// Makes sure that registers below `end` exist. Throws Failure (limit).
  void reserve(const Value* end) {
    if (end > made_) grow(end);
  }

 private:
  void grow(const Value* end);

  Value* values_;
  Value* made_;  // the end of the constructed part
};

/// The frames, innermost last.
class FrameStack {
 public:
  // Far beyond what sensible recursion needs, and small enough to end endless recursion soon.
  static constexpr size_t kCapacity = 200'000;

  FrameStack() : frames_(new Frame[kCapacity]) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Frame* top() { return &frames_[size_ - 1]; }
  Frame& operator[](size_t i) { return frames_[i]; }
  const Frame& operator[](size_t i) const { return frames_[i]; }
  /// Throws Failure (limit).
  Frame* push() {
    if (size_ == kCapacity) fail_full();
    return &frames_[size_++];
  }
  void pop() { --size_; }

 private:
  [[noreturn]] static void fail_full();

  std::unique_ptr<Frame[]> frames_;
  size_t size_ = 0;
};

}  // namespace tsl
