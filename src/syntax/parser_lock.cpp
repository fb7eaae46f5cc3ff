#include "syntax/parser_lock.h"

#include <memory>

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

}  // namespace

std::recursive_mutex& parser_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

void reset_runtime_locks() { RuntimeLocks::renew(); }

}  // namespace tsl
