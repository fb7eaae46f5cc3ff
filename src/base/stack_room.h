// The stack of the running thread: a host program's threads may have little of it.
#pragma once

namespace tsl {

/// Whether less than a third of the thread's stack is left: what recurses by the program's nesting must end here, so
/// that the rest is enough for all other code. Takes a few nanoseconds, but for a thread's first call.
bool is_stack_short();

}  // namespace tsl
