// The profile of a run: where its time went, by kernel, category, line and region.
//
// One clock and one denominator: each moment counts once. While a device computes, it counts for the kernels that run;
// else for what the host does. So rows sum to the whole, and no device is busy for more than all of the time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/instruments.h"

namespace tsl::report {

inline constexpr double kPercent = 100.0;

/// Numbers for their median: all of them while they are few, then every second, every fourth, and so on.
class Sample {
 public:
  void add(uint64_t number) {
    if ((seen_++ & (step_ - 1)) != 0) return;
    numbers_.push_back(number);
    if (numbers_.size() == kMost) thin();
  }
  void add(const Sample& other);
  bool empty() const { return numbers_.empty(); }
  /// Returns 0 if there are no numbers.
  uint64_t median() const;

 private:
  static constexpr size_t kMost = 2048;
  void thin();

  std::vector<uint64_t> numbers_;
  uint64_t seen_ = 0, step_ = 1;  // step_: a power of two
};

/// What a kernel, or an activity of the host, took.
struct ProfileRow {
  exec::Timeline::Id id = 0;
  uint32_t origin = 0;  // of an eager op or a host read; 0: the activity's own
  uint32_t range = 0;   // around the call of the region that launched it, of SourceMap::ranges()
  uint64_t calls = 0;
  double share_ticks = 0;    // of the whole; what runs at the same time shares its moments
  uint64_t ticks = 0;        // in all, each call by itself
  uint64_t first_ticks = 0;  // of the first call
  uint64_t least_ticks = 0;  // of the fastest call
  uint64_t most_ticks = 0;   // of the slowest call
  Sample sample = {};        // of all calls
};

/// The calls of a region or a named range, from begin to end.
struct ProfileScope {
  exec::Timeline::Id id = 0;
  uint64_t calls = 0;
  uint64_t first_ticks = 0, later_ticks = 0;
  uint64_t traces = 0, compilations = 0;  // within the calls
  Sample sample = {};                     // of later calls
};

/// An op whose result nothing used, so that it was not computed.
struct UnusedOp {
  std::string plan;  // the specialisation
  std::string name;
  Span span;
};

/// The most marks and device works of a trace: as JSON about 80 MB, which browsers still load.
inline constexpr size_t kTraceEvents = 400'000;

/// Reads a timeline as it grows, and keeps sums. For the Chrome trace it also keeps the first marks.
class Profile final : public exec::Timeline::Reader, public exec::PlanObserver {
 public:
  /// `keep`: the most marks and device works to keep for a trace.
  explicit Profile(size_t keep = 0) : keep_(keep) {}

  void read(const exec::Timeline& timeline, std::span<const exec::Timeline::Mark> marks,
            std::span<const exec::Timeline::DeviceWork> work) override;
  void on_eliminated(const graph::PlanOptions& options, const graph::Node& node) override;
  void on_plan(const graph::Plan& plan) override;

  const std::vector<ProfileRow>& rows() const { return rows_; }
  const std::vector<ProfileScope>& scopes() const { return scopes_; }
  const std::vector<UnusedOp>& unused() const { return unused_; }
  /// Whether a specialisation launches no kernels, since all its results are unused.
  bool is_empty(const std::string& plan) const { return empty_plans_.count(plan) > 0; }
  /// Returns how many samples of a call path fell into an activity of the host while no device computed.
  const std::map<std::pair<exec::Timeline::Id, uint32_t>, uint64_t>& samples() const { return samples_; }
  uint64_t begin_ticks() const { return begin_; }
  uint64_t end_ticks() const { return at_; }

  const std::vector<exec::Timeline::Mark>& kept_marks() const { return kept_marks_; }
  const std::vector<exec::Timeline::DeviceWork>& kept_work() const { return kept_work_; }
  /// Whether the trace lacks the end of the run.
  bool is_cut() const { return is_cut_; }

 private:
  struct Open {
    size_t row;
    exec::Timeline::Id id;
    uint64_t begin;
    uint64_t own = 0;  // ticks outside of inner scopes
  };

  size_t row_of(const exec::Timeline& timeline, exec::Timeline::Id id, uint32_t origin);
  void advance_to(uint64_t ticks);
  void count_samples(uint64_t ticks);
  void apply(const exec::Timeline& timeline, const exec::Timeline::Mark& mark);
  void end_scope(const exec::Timeline& timeline, uint64_t ticks);
  void count(ProfileRow& row, uint64_t ticks);
  void keep(std::span<const exec::Timeline::Mark> marks, std::span<const exec::Timeline::DeviceWork> work);

  const size_t keep_;
  std::vector<ProfileRow> rows_;
  /// What is known of an activity by its number alone.
  struct Known {
    bool has_lines = false;  // calls from different lines are rows of their own
    bool is_scope = false;   // calls are measured from begin to end
    size_t row = kNone;      // if it has no lines
    size_t scope = kNone;
    uint64_t ProfileScope::*counted = nullptr;  // what the scopes around it count it as
  };
  static constexpr size_t kNone = ~size_t{0};
  const Known& known(const exec::Timeline& timeline, exec::Timeline::Id id);

  std::vector<Known> known_;                     // by activity
  std::unordered_map<uint64_t, size_t> row_of_;  // by activity, and its origin or the range around its region
  std::vector<ProfileScope> scopes_;
  std::vector<UnusedOp> unused_;
  std::set<std::string> empty_plans_;
  std::vector<Open> open_;  // the host's scopes, innermost last; the first one is the interpreter
  std::map<std::pair<exec::Timeline::Id, uint32_t>, uint64_t> samples_;
  std::span<const exec::Timeline::Sample> unread_;  // while the timeline is read
  std::vector<size_t> active_;                      // rows of running device work
  uint64_t begin_ = 0, at_ = 0;
  std::vector<exec::Timeline::Mark> kept_marks_;
  std::vector<exec::Timeline::DeviceWork> kept_work_;
  bool is_cut_ = false;
};

}  // namespace tsl::report
