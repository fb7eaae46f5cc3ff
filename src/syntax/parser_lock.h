// One thread at a time uses the ANTLR runtime, so that its locks can be mended when memory runs out.
#pragma once

#include <mutex>
#include <new>

namespace tsl {

/// Guards the runtime; recursive, since a text in a string is parsed while its source is.
std::recursive_mutex& parser_mutex();
/// Makes the runtime's own locks free again.
void reset_runtime_locks();

/// Calls body(), which parses. The runtime 4.9 keeps a lock for ever if an allocation fails under it, and the next
/// parse would wait for it: so the locks are reset then.
template <class Body> auto with_runtime(Body&& body) {
  const std::lock_guard lock(parser_mutex());
  try {
    return body();
  } catch (const std::bad_alloc&) {
    reset_runtime_locks();
    throw;
  }
}

}  // namespace tsl
