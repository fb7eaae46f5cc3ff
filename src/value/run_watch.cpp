#include "value/run_watch.h"

#include <chrono>
#include <ctime>

#include "base/error.h"

namespace tsl {

namespace {

/// Returns the time of a clock that takes a few nanoseconds to read and may be some milliseconds late.
double now_in_seconds() {
#if defined(CLOCK_MONOTONIC_COARSE)
  constexpr double kNanosecond = 1e-9;
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<double>(time.tv_sec) + kNanosecond * static_cast<double>(time.tv_nsec);
#else
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

/// Throws an error that the program cannot catch: otherwise a loop could catch it and never end.
[[noreturn]] void end_program(ErrorKind kind, std::string message) {
  Error error;
  error.kind = kind;
  error.message = std::move(message);
  error.is_final = true;
  throw Failure(std::move(error));
}

}  // namespace

bool RunWatch::take_interrupt() {
  const bool was_interrupted = is_interrupted_.exchange(false);
  if (!is_running_ || !limits_.any()) is_pending_.store(false);
  if (is_interrupted_.load()) is_pending_.store(true);  // another one came meanwhile
  return was_interrupted;
}

void RunWatch::check() {
  if (is_interrupted_.load()) {
    take_interrupt();
    end_program(ErrorKind::interrupt, "interrupted");
  }
  ++steps_;
  if (limits_.steps > 0 && steps_ > limits_.steps)
    end_program(ErrorKind::limit, fmt::format("the program may take {} steps, calls and iterations", limits_.steps));
  if (limits_.seconds > 0 && now_in_seconds() > end_)
    end_program(ErrorKind::limit, fmt::format("the program may take {} seconds", limits_.seconds));
}

bool RunWatch::begin(const RunLimits& limits) {
  if (is_running_) return false;
  is_running_ = true;
  limits_ = limits;
  steps_ = 0;
  if (limits.seconds > 0) end_ = now_in_seconds() + limits.seconds;
  if (limits.any()) is_pending_.store(true);
  return true;
}

void RunWatch::end() {
  is_running_ = false;
  if (!is_interrupted_.load()) is_pending_.store(false);
  if (is_interrupted_.load()) is_pending_.store(true);  // one came meanwhile
}

}  // namespace tsl
