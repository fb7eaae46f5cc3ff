// The interpreter's stacks: registers and frames. They are never reallocated, so pointers into them stay valid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "bytecode/bytecode.h"
#include "value/value.h"

namespace tsl {

/// An active call of a function.
struct Frame {
  static constexpr uint32_t kEntry = 1;         // entered from C++: its return ends a run
  static constexpr uint32_t kOpen = 2;          // its calls and loops may become regions
  static constexpr uint32_t kMember = 4;        // calls a field, object.f(…), so that the object is no argument
  static constexpr uint32_t kRegion = 8;        // entered from C++ for the call of a region
  static constexpr uint32_t kInterpreted = 16;  // within a call of a function that has @interpret

  const Instruction* pc;  // the current instruction; up to date whenever other code can access the frame
  Value* base;            // register 0; base[-1] holds the function, and later its result
  const Proto* proto;
  uint32_t flags;

  uint32_t pc_index() const { return static_cast<uint32_t>(pc - proto->code.data()); }
  Value* end() const { return base + proto->register_count; }
  const Function& function() const { return base[-1].as<Function>(); }
};

/// The registers of all frames. The address range is reserved at once, but memory is used only as the stack grows.
/// Values above the frames are always nil or immediate, and never symbols.
class ValueStack {
 public:
  // Recursion reaches the limit of frames first, unless functions have very many variables.
  static constexpr size_t kCapacity = size_t{1} << 21;

  ValueStack();
  ~ValueStack();
  ValueStack(const ValueStack&) = delete;
  ValueStack& operator=(const ValueStack&) = delete;

  Value* begin() { return values_; }
  /// Constructs all registers below `end`. Throws Failure (limit).
  void reserve(const Value* end) {
    if (end > made_) grow(end);
  }

 private:
  void grow(const Value* end);

  Value* values_;
  Value* made_;  // end of the constructed registers
};

/// The frames; the innermost is last.
class FrameStack {
 public:
  // Far more than sensible recursion needs, but few enough that endless recursion fails soon.
  static constexpr size_t kCapacity = 200'000;

  FrameStack() : frames_(new Frame[kCapacity]), serials_(new uint64_t[kCapacity]) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Frame* top() { return &frames_[size_ - 1]; }
  Frame& operator[](size_t i) { return frames_[i]; }
  const Frame& operator[](size_t i) const { return frames_[i]; }
  /// Adds a frame. Throws Failure (limit).
  Frame* push() {
    if (size_ >= limit_) fail_full();
    serials_[size_] = ++pushed_;
    return &frames_[size_++];
  }
  /// Returns a number that no other call has.
  uint64_t serial(size_t i) const { return serials_[i]; }
  void pop() { --size_; }
  /// Sets the most frames. What exceeds it ends the program, which cannot catch that.
  void set_limit(size_t limit) { limit_ = std::min(limit, kCapacity); }

 private:
  [[noreturn]] void fail_full() const;

  size_t limit_ = kCapacity;
  std::unique_ptr<Frame[]> frames_;
  std::unique_ptr<uint64_t[]> serials_;
  uint64_t pushed_ = 0;
  size_t size_ = 0;
};

}  // namespace tsl
