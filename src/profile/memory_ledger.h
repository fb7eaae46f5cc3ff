// Who holds the memory of devices, now and at the peak: sums by the op that asked, its line and its region.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/devices.h"
#include "exec/timeline.h"
#include "profile/memory_holders.h"

namespace tsl::report {

/// The memory in use over time, in a bounded number of spans of time.
class MemorySamples {
 public:
  /// A span of time: the most in use in it, and what was in use at its end.
  struct Sample {
    uint64_t begin;
    uint64_t most_at, most;
    uint64_t last_at, last;
  };
  /// `most`: samples, at least 2; 0: none are kept.
  explicit MemorySamples(size_t most) : most_(most) {}
  void add(uint64_t ticks, uint64_t bytes);
  const std::vector<Sample>& all() const { return samples_; }

 private:
  void merge();

  const size_t most_;
  std::vector<Sample> samples_;
  uint64_t length_ = 1024;  // ticks of a sample
};

/// The memory that blocks of one origin take.
struct MemoryHolder {
  struct Sum {
    uint64_t bytes = 0, blocks = 0;
  };
  std::string plan;       // as in BlockPurpose
  std::string_view what;  // as in BlockPurpose
  Origin origin;
  Sum now, at_peak;
  uint64_t peak = 0;                   // the peak that `at_peak` belongs to; an older one: nothing has changed since
  std::vector<std::string> variables;  // that have held some of it: "params.w1"
  bool has_more_variables = false;
};

/// The blocks of one device. What there is no host memory to record is left out: the program goes on. Sums at the peak
/// are exact, and kept in constant time: what a holder had at the last peak is stored when it changes for the first
/// time after it.
class DeviceMemory final : public BlockObserver {
 public:
  /// `where`: returns the position of the running call.
  DeviceMemory(BlockCache& cache, std::function<Origin()> where, size_t most_samples);

  uint32_t on_allocate(uint64_t bytes, const BlockPurpose& purpose) override;
  void on_free(uint32_t number, uint64_t bytes) override;

  Device device() const { return cache_.device(); }
  uint64_t live() const { return live_; }
  uint64_t peak() const { return peak_; }
  /// Returns the holders at the peak, those of most memory first.
  std::vector<MemoryHolder> at_peak() const;
  /// Returns all holders by the numbers of their blocks.
  const std::vector<MemoryHolder>& holders() const { return holders_; }
  const MemorySamples& samples() const { return samples_; }

  /// The peak so far, for a profile within another one.
  struct Peak {
    uint64_t bytes = 0;
    std::vector<MemoryHolder::Sum> sums;  // by holder
  };
  /// Begins a new peak; returns the one before.
  Peak begin_peak();
  /// Continues a peak after those that began in it.
  void end_peak(const Peak& before);

  /// Whether the peak has grown so much that it is worth a look at the variables.
  bool wants_look() const { return peak_ > looked_at_ + looked_at_ / kGrowth; }
  void look_begins() { looked_at_ = peak_; }
  /// Records that a variable holds a block.
  void found(const Storage& storage, const TensorPath& path);

 private:
  static constexpr uint64_t kGrowth = 16;
  struct Key {
    Origin origin;
    std::string plan;
    std::string_view what;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  uint32_t number_of(const BlockPurpose& purpose) noexcept;
  MemoryHolder::Sum& change(uint32_t number);
  void sample() noexcept;

  BlockCache& cache_;
  const std::function<Origin()> where_;
  std::vector<MemoryHolder> holders_;  // the first one: blocks that were allocated before
  std::unordered_map<Key, uint32_t, KeyHash> numbers_;
  Key key_;  // reused by all calls
  uint64_t live_ = 0, peak_ = 0;
  uint64_t peaks_ = 1;  // how often there was a new peak
  uint64_t looked_at_ = 0;
  const bool keeps_samples_;
  MemorySamples samples_;
};

/// The devices of one engine, from the begin of its first profile on.
class MemoryLedger {
 public:
  /// `most_samples`: of each device, for a trace.
  MemoryLedger(exec::Devices& devices, const Interpreter& interpreter, std::function<Origin()> where,
               size_t most_samples);

  const std::vector<std::unique_ptr<DeviceMemory>>& devices() const { return devices_; }
  /// Returns the memory of a device, or null.
  const DeviceMemory* of(Device device) const;
  /// Names the variables that hold memory, if there is more than at the last look. Looks take a small part of the time,
  /// however many variables there are.
  void look_if_grown() {
    for (const auto& device : devices_) {
      if (device->wants_look()) return look_if_cheap();
    }
  }
  void look();
  /// As for one device, for all of them.
  std::vector<DeviceMemory::Peak> begin_peaks();
  void end_peaks(const std::vector<DeviceMemory::Peak>& before);

 private:
  using Clock = std::chrono::steady_clock;
  void look_if_cheap();

  const Interpreter& interpreter_;
  const std::function<Origin()> where_;
  const size_t most_samples_;
  std::vector<std::unique_ptr<DeviceMemory>> devices_;
  const Clock::time_point begin_ = Clock::now();
  Clock::duration looking_{};  // the time that looks have taken
};

/// Formats what made a holder's blocks: "matmul in step:12#0 (train.tsl:8)".
std::string maker_text(const MemoryHolder& holder, const SourceMap& sources);

/// Formats a table of each device's memory at its peak, of at most so many rows.
std::string memory_text(const MemoryLedger& ledger, const SourceMap& sources, size_t most);

}  // namespace tsl::report
