// Records the calls that give a GPU work, and attributes to them the work that it then does, for a profile.
//
// CUPTI reports when each kernel and copy ran, also those of a CUDA graph. Where CUPTI cannot be used, each call is
// timed by two CUDA events; then nothing is launched as a graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/driver/cupti.h"
#include "exec/timeline.h"

namespace tsl::cuda {

class Device;

inline constexpr exec::Timeline::Id kNoActivity = ~exec::Timeline::Id{0};

/// A node of a CUDA graph in a profile.
struct GraphNode {
  exec::Timeline::Id activity = kNoActivity;
  std::string symbol;  // the kernel's; "": a library chooses the kernel, or the node is none
};
/// By number: first the graph's own nodes in the order in which they were added, then those of each child graph.
using GraphNodes = std::vector<GraphNode>;

/// A call that gives a GPU work.
struct WorkCall {
  uint64_t ticks = 0;
  uint32_t origin = 0;
  exec::Timeline::Id activity = kNoActivity;     // kNoActivity: a copy, or a graph
  std::shared_ptr<const GraphNodes> nodes = {};  // of a graph
};

/// Returns the number of a node in its graph, from the identifier that CUPTI reports.
inline uint32_t node_number(uint64_t node) { return static_cast<uint32_t>(node); }

/// Returns the activity of each record of one call; kNoActivity: unknown. A kernel of a graph belongs to its node. If
/// any node has another kernel's symbol, so that the numbers cannot be relied on, kernels are found by symbol instead,
/// several of one symbol in the order of their nodes, and the others are those of libraries.
std::vector<exec::Timeline::Id> attribute(const WorkCall& call, std::span<const GpuRecord> records);

class WorkLog final : public exec::Timeline::Source {
 public:
  explicit WorkLog(Device& device) : device_(device) {}
  ~WorkLog() override;
  WorkLog(const WorkLog&) = delete;
  WorkLog& operator=(const WorkLog&) = delete;

  /// Records for this timeline from now on; null: for none.
  void follow(exec::Timeline* timeline) {
    if (timeline != timeline_) change(timeline);
  }
  exec::Timeline* timeline() const { return timeline_; }
  /// Whether kernels must be launched one by one.
  bool times_each_call() const { return timeline_ && !cupti_ && timeline_->is_recorded(); }

  /// Adds all work since the last call, for which it waits.
  void add_work(exec::Timeline& timeline) override;
  void on_end() override;

  /// A call that gives the device work; does nothing without a log. Calls within it belong to it.
  class Scope {
   public:
    Scope(WorkLog* log, exec::Timeline::Id activity) : log_(log) {
      if (log_ && log_->depth_++ == 0) log_->begin({.activity = activity});
    }
    /// Launches a graph.
    Scope(WorkLog* log, std::shared_ptr<const GraphNodes> nodes) : log_(log) {
      if (log_ && log_->depth_++ == 0) log_->begin({.nodes = std::move(nodes)});
    }
    /// Copies or fills.
    Scope(WorkLog* log, GpuRecord::Kind kind, uint64_t bytes) : log_(log) {
      if (log_ && log_->depth_++ == 0) log_->begin_copy(kind, bytes);
    }
    ~Scope() {
      if (log_ && --log_->depth_ == 0) log_->end();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WorkLog* const log_;
  };
  /// Between these two nothing is a call: the device's stream records a graph.
  void pause() { ++depth_; }
  void resume() { --depth_; }

 private:
  // A flush waits for the device, so it should be rare.
  static constexpr size_t kMostCalls = size_t{1} << 20, kMostTimed = 4096;

  /// A moment on the host's counter, and on the clock that reports work.
  struct Moment {
    uint64_t ticks = 0, nanoseconds = 0;
  };
  struct Events {
    CUevent begin, end;
  };

  void change(exec::Timeline* timeline);
  void start();
  void stop();
  void begin(WorkCall call);
  std::string name_of_call(const WorkCall& call) const;
  void begin_copy(GpuRecord::Kind kind, uint64_t bytes);
  void end();
  CUevent record_event();
  Moment now() const;
  void set_base();
  void add_reported();
  void add_call(const WorkCall& call, std::span<const GpuRecord> records, const Moment& last);
  bool is_unnamed(exec::Timeline::Id id) const;
  void add_timed();
  void add(const WorkCall& call, exec::Timeline::Id activity, uint64_t begin, uint64_t end);
  uint64_t ticks_at(uint64_t nanoseconds, const Moment& last) const;
  exec::Timeline::Id activity_of(const GpuRecord& record);
  exec::Timeline::Id copy_activity(GpuRecord::Kind kind, uint64_t bytes);

  Device& device_;
  exec::Timeline* timeline_ = nullptr;
  int depth_ = 0;         // scopes; only the outermost is a call
  bool is_open_ = false;  // the last of calls_ has not ended
  std::vector<WorkCall> calls_;
  Moment base_;                                                                // the last flush, or the start
  std::map<std::pair<GpuRecord::Kind, uint64_t>, exec::Timeline::Id> copies_;  // by bytes
  std::map<std::string, exec::Timeline::Id> unknown_;                          // kernels of no call

  Cupti* cupti_ = nullptr;
  uint32_t user_ = 0;
  uint64_t first_call_ = 0;  // the number of calls_[0]

  CUevent base_event_ = nullptr;
  std::vector<Events> events_;  // one per call
  std::vector<CUevent> free_;
};

}  // namespace tsl::cuda
