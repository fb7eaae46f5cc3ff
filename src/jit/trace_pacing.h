// Decides when the regions of one declaration are traced again, so that no region falls back for good and none spends
// its time on tracing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tsl::jit {

/// The most trace paths of a region. If there are more, guards do not describe what really varies.
inline constexpr uint32_t kMaxTracePaths = 32;

/// Spaces traces. The first kMaxTracePaths traces follow at once. After each later one, and after an aborted one, there
/// is a wait: calls that fit no trace path are interpreted. Waits grow, unless trace paths are replayed often.
class TracePacing {
 public:
  // A trace of a small function takes as long as interpreting it 20 to 100 times, so at the longest wait tracing in
  // vain takes a tenth of the time at most.
  static constexpr uint32_t kFirstWait = 32;  // in calls or iterations
  static constexpr uint32_t kWaitGrowth = 4;
  static constexpr uint32_t kMaxWait = 2048;
  // A wait starts small again if each interpreted call of the previous one was matched by this many replays.
  static constexpr uint64_t kReplaysThatPay = 16;
  // Looking for a trace path takes time, too: if so many more calls fit none than fit one, all are evicted.
  static constexpr uint64_t kMaxMisses = 64;

  /// Counts a trace that is about to start.
  void begin_trace() {
    if (++traces_ >= kMaxTracePaths) wait();
  }
  void abort_trace() {
    if (!is_waiting()) wait();
  }
  bool is_waiting() const { return left_ > 0; }
  /// Returns the number of calls that are still interpreted before the next trace.
  uint32_t calls_left() const { return left_; }
  /// Counts a call that is interpreted in a wait.
  void count_interpreted() { --left_; }
  /// Whether too few calls of this wait fit a trace path.
  bool rarely_replays() const { return wait_ - left_ > replays_ - replays_before_ + kMaxMisses; }

  /// Counts a replay. Returns the time, measured in replays.
  uint64_t count_replay() { return ++replays_; }
  uint64_t now() const { return replays_; }

 private:
  void wait() {
    const bool pays = replays_ - replays_before_ > kReplaysThatPay * wait_;
    wait_ = pays || wait_ == 0 ? kFirstWait : std::min(wait_ * kWaitGrowth, kMaxWait);
    left_ = wait_;
    replays_before_ = replays_;
  }

  uint32_t traces_ = 0;
  uint32_t wait_ = 0;  // length of the last wait
  uint32_t left_ = 0;
  uint64_t replays_ = 0;
  uint64_t replays_before_ = 0;  // at the start of the last wait
};

}  // namespace tsl::jit
