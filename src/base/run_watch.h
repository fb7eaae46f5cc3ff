// Ends a running program from outside: at an interrupt, or when it exceeds its limits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace tsl {

/// What one run of a program may take; 0: no limit.
struct RunLimits {
  uint64_t steps = 0;       // calls and iterations of loops
  double seconds = 0;       // of one run
  uint64_t host_bytes = 0;  // of strings, lists, records and closures that exist at a time
  bool any() const { return steps > 0 || seconds > 0; }
};

/// Watches the runs of an engine. The interpreter polls is_pending() at each call and each iteration of a loop, and
/// calls check() while that is true: after an interrupt, while a profile asks for a sample, and always while a run has
/// limits of steps or seconds. All other code that may run for long calls poll_stop(), also on the worker threads.
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

  /// Asks the interpreter for a sample of what it runs at a moment, in ticks of the processor's counter, unless one is
  /// asked for. May be called from another thread.
  void ask_sample(uint64_t ticks) {
    uint64_t none = 0;
    sample_at_.compare_exchange_strong(none, ticks);
    is_pending_.store(true);
  }
  /// Returns the moment of the sample that is asked for; 0: none.
  uint64_t sample_at() const { return sample_at_.load(std::memory_order_relaxed); }
  /// Says that no sample is asked for any more.
  void end_sample();

  /// Counts a step. Throws Failure (interrupt, limit), which the program cannot catch.
  void check();
  /// As check(), on any thread that works for the run, and without counting.
  void check_time();
  /// Throws Failure (limit) if the time ends before so many more seconds: for work that cannot poll, before it begins.
  void require_time(double seconds) const;

  /// Sets the most bytes of host values; 0: no limit.
  void limit_host_bytes(uint64_t bytes) { host_limit_ = most_host_bytes_ = bytes; }
  uint64_t host_limit() const { return host_limit_; }
  /// Throws Failure (limit) if so many more bytes of host values exceed the limit.
  void require_host_bytes(uint64_t bytes) const;
  uint64_t host_bytes() const { return host_bytes_; }

  /// Receives how many of the bytes of a large file are read, at the end all of them; hosts may show it to a person.
  std::function<void(std::string_view path, uint64_t done, uint64_t total)> show_reading;

  /// Returns the watch of the run for which this thread works; null if there is none.
  static RunWatch* current();

  /// Makes a watch the current one of this thread.
  class Current {
   public:
    explicit Current(RunWatch* watch);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    RunWatch* const before_;
  };

  /// Watches over a run; the runs within it count towards its limits.
  class Scope {
   public:
    Scope(RunWatch& watch, const RunLimits& limits)
        : watch_(watch), current_(&watch), is_outermost_(watch.begin(limits)) {}
    ~Scope() {
      if (is_outermost_) watch_.end();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    RunWatch& watch_;
    const Current current_;
    const bool is_outermost_;
  };

 private:
  friend class HostBytes;

  bool begin(const RunLimits& limits);
  void end();
  void update_pending(bool has_limits);

  std::atomic<bool> is_pending_{false};
  std::atomic<uint64_t> sample_at_{0};
  std::atomic<bool> is_interrupted_{false};
  std::atomic<bool> has_stopped_{false};  // the interrupt has ended a run
  bool is_running_ = false;
  RunLimits limits_;  // of the outermost run
  uint64_t steps_ = 0;
  double end_ = 0;  // the moment in seconds at which the time is over
  uint64_t host_limit_ = 0;
  uint64_t most_host_bytes_ = 0;  // of this run: more than the limit if that is used up, so that a run can free some
  uint64_t host_bytes_ = 0;       // counted while there is a limit
};

/// Ends the work of this thread if its run is to end: throws Failure (interrupt, limit), which the program cannot
/// catch. Takes a few nanoseconds.
void poll_stop();

/// Calls body(first, count) for parts of [0, count), and polls between them.
template <class Body> void in_parts(int64_t count, Body&& body) {
  constexpr int64_t kPart = 1 << 18;
  for (int64_t first = 0; first < count; first += kPart) {
    body(first, count - first < kPart ? count - first : kPart);
    if (count > kPart) poll_stop();
  }
}

/// The bytes of a host value, counted by the watch of the run that makes it, if that has a limit of them.
class HostBytes {
 public:
  HostBytes() = default;
  HostBytes(const HostBytes&) {}
  HostBytes(HostBytes&& other) noexcept : units_(std::exchange(other.units_, 0)) {}
  HostBytes& operator=(const HostBytes&) { return *this; }
  ~HostBytes() {
    if (units_ > 0) recount(0);
  }
  /// Replaces the number. Throws Failure (limit), which the program cannot catch, and counts the bytes nevertheless.
  void set(uint64_t bytes);
  /// As set() where nothing may fail: the next poll ends the program.
  void note(uint64_t bytes);

 private:
  static constexpr uint64_t kUnit = 16;
  void recount(uint32_t units);

  uint32_t units_ = 0;
};

/// Counts the bytes of what grows in small steps.
class GrowingBytes {
 public:
  /// Counts more bytes, from time to time. Throws Failure (limit).
  void add(uint64_t bytes) {
    total_ += bytes;
    if (total_ - counted_ >= kStep) bytes_.set(counted_ = total_);
  }

 private:
  static constexpr uint64_t kStep = 1 << 10;
  uint64_t total_ = 0, counted_ = 0;
  HostBytes bytes_;
};

/// Returns the most bytes that a cache may keep: `most`, or a share of the limit of host memory if that is less.
uint64_t cache_limit(uint64_t most, uint64_t share);

/// Throws Failure (limit) if the run of this thread ends before so many more seconds: for work that cannot poll.
void require_time(double seconds);

/// Throws Failure (limit) if this run may not have so many more bytes of host values: before they are allocated.
void require_host_bytes(uint64_t bytes);

/// Makes room for more items of a vector, after counting it, so that a refused one leaves the vector as it is. Returns
/// whether the vector has grown.
template <class T> bool reserve_counted(std::vector<T>& items, size_t more) {
  if (items.capacity() - items.size() >= more) return false;
  const size_t capacity = std::max(2 * items.capacity(), items.size() + more);
  require_host_bytes((capacity - items.capacity()) * sizeof(T));
  items.reserve(capacity);
  return true;
}

}  // namespace tsl
