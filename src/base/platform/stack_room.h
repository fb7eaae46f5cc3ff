// The stack of the running thread: a host program's threads may have little of it, and its fibres have stacks of their
// own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tsl::platform {

/// Whether less than a third of the stack is left: what recurses by the program's nesting must end here, so that the
/// rest is enough for all other code. Takes a few nanoseconds, but for a thread's first call.
bool is_stack_short();

/// The stack of a thread, and where it is short: from its end to a third of it.
struct ThreadStack {
  uintptr_t begin = 0, short_end = 0, end = 0;
  uintptr_t fibre_short_end = 0;  // of the fibre that runs; 0: none has said how large it is

  /// Whether an address lies on the thread's own stack.
  bool is_own(uintptr_t address) const { return begin <= address && address < end; }
};

/// Of this thread; of no extent before a first use. (Host programs call TSL often: this access takes one instruction.)
extern constinit thread_local ThreadStack thread_stack __attribute__((tls_model("initial-exec")));

/// Says how many bytes of stack there are below this object, for as long as it exists, if it is on none of the thread's
/// own. 0: kFibreStack. On the thread's own stack it says nothing.
class StackBelow {
 public:
  explicit StackBelow(size_t bytes) {
    if (!thread_stack.is_own(reinterpret_cast<uintptr_t>(this))) enter(bytes);
  }
  ~StackBelow() {
    if (is_on_fibre_) thread_stack.fibre_short_end = 0;
  }
  StackBelow(const StackBelow&) = delete;
  StackBelow& operator=(const StackBelow&) = delete;

  static constexpr size_t kFibreStack = size_t{256} << 10;

 private:
  void enter(size_t bytes);

  bool is_on_fibre_ = false;
};

}  // namespace tsl::platform
