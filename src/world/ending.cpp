#include "world/ending.h"

#include <atomic>
#include <csignal>

namespace tsl::world {

namespace {

std::atomic<bool> is_allowed{false};
volatile std::sig_atomic_t has_come = 0;

void on_terminate(int) { has_come = 1; }

bool take_over() {
  struct sigaction action = {};
  action.sa_handler = on_terminate;
  action.sa_flags = SA_RESTART;
  return sigaction(SIGTERM, &action, nullptr) == 0;
}

}  // namespace

void allow_ending() { is_allowed = true; }

bool is_ending() {
  if (!is_allowed) return false;
  static const bool is_taken_over = take_over();
  return is_taken_over && has_come != 0;
}

}  // namespace tsl::world
