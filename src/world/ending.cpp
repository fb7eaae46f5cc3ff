#include "world/ending.h"

#include <atomic>

#include "base/platform/signals.h"

namespace tsl::world {

namespace {

std::atomic<bool> is_allowed{false};
platform::SignalFlag has_come = 0;

void on_terminate(int) { has_come = 1; }

bool take_over() {
  return platform::handle_signal(platform::Signal::terminate, on_terminate, platform::Interrupted::goes_on);
}

}  // namespace

void allow_ending() { is_allowed = true; }

bool is_ending() {
  if (!is_allowed) return false;
  static const bool is_taken_over = take_over();
  return is_taken_over && has_come != 0;
}

}  // namespace tsl::world
