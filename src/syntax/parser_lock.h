// One thread at a time uses the ANTLR runtime, so that its locks can be mended when memory runs out.
#pragma once

#include <mutex>
#include <new>

namespace tsl {

/// Guards the runtime; recursive, since a text in a string is parsed while its source is.
std::recursive_timed_mutex& parser_mutex();
/// Has the exit of the process keep all threads out of the runtime.
void close_runtime_at_exit();
/// Stops a thread that parses while the process exits, for ever.
void stop_at_exit();
/// Makes the runtime's own locks free again.
void reset_runtime_locks();

/// Calls body(), which parses. The runtime 4.9 keeps a lock for ever if an allocation fails under it, and the next
/// parse would wait for it: so the locks are reset then.
template <class Body> auto with_runtime(Body&& body) {
  close_runtime_at_exit();
  const std::lock_guard lock(parser_mutex());
  try {
    return body();
  } catch (const std::bad_alloc&) {
    reset_runtime_locks();
    throw;
  }
}

}  // namespace tsl
