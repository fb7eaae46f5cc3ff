// Ends a running program from outside: at an interrupt, or when it exceeds its limits.
#pragma once

#include <atomic>
#include <cstdint>

namespace tsl {

/// What one run of a program may take; 0: no limit.
struct RunLimits {
  uint64_t steps = 0;  // calls and iterations of loops
  double seconds = 0;
  bool any() const { return steps > 0 || seconds > 0; }
};

/// The interpreter polls is_pending() at each call and each iteration of a loop, and calls check() while that is true:
/// after an interrupt, and always while a run has limits.
class RunWatch {
 public:
  /// Ends the program soon. May be called from another thread and from a signal handler.
  void interrupt() {
    is_interrupted_.store(true);
    is_pending_.store(true);
  }
  bool is_interrupted() const { return is_interrupted_.load(); }
  /// Takes back an interrupt. Returns whether there was one.
  bool take_interrupt();

  bool is_pending() const { return is_pending_.load(std::memory_order_relaxed); }
  /// Counts a step. Throws Failure (interrupt, limit), which the program cannot catch.
  void check();

  /// Watches over a run; the runs within it count towards its limits.
  class Scope {
   public:
    Scope(RunWatch& watch, const RunLimits& limits) : watch_(watch), is_outermost_(watch.begin(limits)) {}
    ~Scope() {
      if (is_outermost_) watch_.end();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    RunWatch& watch_;
    const bool is_outermost_;
  };

 private:
  bool begin(const RunLimits& limits);
  void end();

  std::atomic<bool> is_pending_{false};
  std::atomic<bool> is_interrupted_{false};
  bool is_running_ = false;
  RunLimits limits_;  // of the outermost run
  uint64_t steps_ = 0;
  double end_ = 0;  // the moment in seconds at which the time is over
};

}  // namespace tsl
