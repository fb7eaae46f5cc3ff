#include "syntax/parser_lock.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "antlr4-runtime.h"

namespace tsl {

namespace {

/// Reaches the runtime's locks, which only simulators may.
struct RuntimeLocks : antlr4::atn::ATNSimulator {
  static void renew() {
    for (antlrcpp::SingleWriteMultipleReadLock* lock : {&_stateLock, &_edgeLock}) {
      std::destroy_at(lock);
      std::construct_at(lock);
    }
  }
};

std::atomic<bool> is_exiting{false};
constinit thread_local bool exits_here = false;

/// Keeps threads out of the runtime while the process exits, which destroys the runtime's static objects. A thread that
/// is in there stops at its next token.
void close_runtime() {
  constexpr std::chrono::milliseconds kToNextToken{200};
  exits_here = true;
  is_exiting.store(true);
  (void)parser_mutex().try_lock_for(kToNextToken);
}

}  // namespace

std::recursive_timed_mutex& parser_mutex() {
  static std::recursive_timed_mutex mutex;
  return mutex;
}

void close_runtime_at_exit() { [[maybe_unused]] static const int registered = std::atexit(close_runtime); }

void stop_at_exit() {
  // bounded: until the process has ended
  while (is_exiting.load(std::memory_order_relaxed) && !exits_here) std::this_thread::sleep_for(std::chrono::hours(1));
}

void reset_runtime_locks() { RuntimeLocks::renew(); }

}  // namespace tsl
