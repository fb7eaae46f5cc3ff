// Records what an engine does and when, for its profile: scopes on the host, and work on devices, on one clock.
//
// The host's scopes nest: each moment belongs to the innermost one. A device that runs asynchronously reports its work
// later, with the times at which it ran. Whoever reads the timeline (`Reader`) receives both in pieces, so that the
// memory it takes is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/source.h"
#include "exec/executable.h"
#include "graph/kernel_facts.h"

namespace tsl::exec {

/// What a scope of the host, or the work of a device, is for.
enum class ActivityKind : uint8_t {
  start_up,   // from the start of the process to the first line of the program, and opening devices
  parse,      // source to bytecode
  interpret,  // the interpreter, and what belongs to nothing else
  trace,      // recording the ops of a region
  compile,    // graph to plan
  generate,   // a plan to code for the device
  load,       // compiled code onto the device
  replay,     // a compiled region: guards, binding, results
  segment,    // one of several segments of a compiled region
  native,     // a function of the host program
  launch,     // starting kernels on a device that runs asynchronously
  kernel,     // a kernel on its device: has facts
  to_device,  // copies
  to_host,    // copies, and host reads
  wait,       // the host waits for the device
  output,     // printing
  meet,       // waiting for the other ranks of the program
  pass,       // tensors between ranks
  range,      // with_range("name", fn)
};
inline constexpr int kActivityKinds = static_cast<int>(ActivityKind::range) + 1;

/// A row of the timeline's table of activities.
struct Activity {
  ActivityKind kind = ActivityKind::interpret;
  std::string name = {};          // of the region, the kernel or the range; "" if the kind says it all
  Span span = {};                 // where the program has it
  Device device = {};             // kernels and copies
  graph::KernelFacts facts = {};  // kernels: of their launch
  LoadedKernel kernel = {};       // kernels
  std::string plan = {};          // kernels: the specialisation that the plan belongs to; "" for an eager op
  uint32_t segment = 0;           // kernels: the position of the plan's segment on the trace path
};

/// Names an activity for people: "running compiled regions step:12"; a kernel by its name alone.
std::string text_of(const Activity& activity);
/// Names an activity as a range: "step:12".
std::string range_name(const Activity& activity);
/// Names a kind of activities: "kernels".
const char* name_of(ActivityKind kind);

/// Shows the scopes of a timeline to a profiler of another maker, as they begin and end.
class RangeSink {
 public:
  virtual ~RangeSink() = default;
  virtual void begin(const std::string& name) = 0;
  virtual void end() = 0;
};

/// The time in ticks of the processor's counter, which takes less time to read than a clock.
uint64_t now_in_ticks();

class Timeline {
 public:
  using Id = uint32_t;
  /// Begins the scope of an activity, or ends the innermost scope (kEnd). `origin`: a number of origins(); 0: the
  /// activity's own.
  struct Mark {
    uint64_t ticks;
    Id id;
    uint32_t origin;
  };
  /// Work of a device, in ticks of the host's counter.
  struct DeviceWork {
    uint64_t begin, end;
    Id id;
    uint32_t origin;
    uint64_t launched = 0;  // when the host launched it; 0: not known
  };
  /// A moment, and what the program did at it: the number of a call path, which those who add samples give. `weight`:
  /// how many moments it stands for.
  struct Sample {
    uint64_t ticks;
    uint32_t path;
    uint32_t weight;
  };
  /// Consumes marks and work, and samples(). The host's marks are complete up to the last of them, and so is the
  /// devices' work.
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual void read(const Timeline& timeline, std::span<const Mark> marks, std::span<const DeviceWork> work) = 0;
  };
  /// Makes a device that runs asynchronously add all work so far.
  class Source {
   public:
    virtual ~Source() = default;
    virtual void add_work(Timeline& timeline) = 0;
    /// Says that the timeline ends, which is not to be used any more.
    virtual void on_end() = 0;
  };

  static constexpr Id kEnd = ~Id{0};

  /// `sink`: shows the scopes as well; null: nobody does.
  explicit Timeline(Reader& reader, RangeSink* sink = nullptr) : Timeline(&reader, sink) {}
  /// Records nothing: the scopes are shown only.
  explicit Timeline(RangeSink& sink) : Timeline(nullptr, &sink) {}
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  /// Returns a number that no other timeline of the process has.
  uint64_t serial() const { return serial_; }

  /// Numbers an activity.
  Id add(Activity activity);
  /// Sets the name that a library's kernel has in the device's own tools, once they report it.
  void set_kernel_name(Id id, std::string name) { activities_[id].kernel.name = std::move(name); }
  const Activity& operator[](Id id) const { return activities_[id]; }
  size_t size() const { return activities_.size(); }
  /// Returns the activity of a kind that needs no name.
  Id of(ActivityKind kind) const { return static_cast<Id>(kind); }

  /// Returns the activity of a named range, or of a function of the host program; adds it at the first call.
  Id range(const std::string& name) { return named(ActivityKind::range, name); }
  Id native(const std::string& name) { return named(ActivityKind::native, name); }

  void begin(Id id) {
    if (sink_) sink_->begin(range_name(activities_[id]));
    put({now_in_ticks(), id, origin_});
  }
  void end() {
    put({now_in_ticks(), kEnd, 0});
    if (sink_) sink_->end();
  }
  /// Whether marks and work are recorded, and not only shown.
  bool is_recorded() const { return reader_ != nullptr; }
  RangeSink* sink() const { return sink_; }
  void add_work(const DeviceWork& work) { work_.push_back(work); }
  /// Adds a sample, none of which is earlier than the one before.
  void add_sample(const Sample& sample) {
    if (!reader_) return;
    samples_.push_back(sample);
    if (samples_.size() >= kMaxMarks) flush();  // a long loop that has no scopes
  }
  /// Returns the samples that the reader has not read.
  std::span<const Sample> samples() const { return samples_; }

  /// Sets the origin of kernels of eager ops, which have none of their own.
  void set_origin(const Origin& origin);
  /// As set_origin(), within the range of the origin before.
  void set_position(Span span) { set_origin({span, false, ComposedWork::none, origins_[origin_].range}); }
  uint32_t origin() const { return origin_; }
  const Origin& origin(uint32_t number) const { return origins_[number]; }

  /// Adds a line on how complete or exact the recording is, unless it is there.
  void add_note(std::string note);
  const std::vector<std::string>& notes() const { return notes_; }

  /// Says that a function with @compile is interpreted, and why. `extent`: of its declaration.
  void add_interpreted(Span extent, std::string why) {
    add_note(std::move(why));
    interpreted_.push_back(extent);
  }
  /// Whether a position is in such a function.
  bool is_interpreted(Span at) const;

  /// Registers a device that adds work, until it is removed or the timeline ends.
  void add_source(Source& source) { sources_.push_back(&source); }
  void remove_source(Source& source) { std::erase(sources_, &source); }
  /// Passes everything so far to the reader.
  void flush();

  /// The ticks at which the timeline began, and at which the reader was last given something.
  uint64_t begin_ticks() const { return first_.ticks; }
  uint64_t end_ticks() const { return last_.ticks; }
  /// Converts a number of ticks to seconds.
  double seconds(double ticks) const;
  /// Returns the ticks at a time of the host's steady clock, in nanoseconds.
  uint64_t ticks_at(int64_t steady_nanoseconds) const;

 private:
  Timeline(Reader* reader, RangeSink* sink);
  // Few enough to stay in a cache; with devices more, 16 MB, since a flush waits for them.
  static constexpr size_t kMaxMarks = size_t{1} << 15;
  static constexpr size_t kMaxMarksWithDevices = size_t{1} << 20;
  struct OriginHash {
    size_t operator()(const Origin& origin) const {
      return (origin.span.source * 31 + origin.span.begin) * 0x9e3779b97f4a7c15ull + origin.span.end * 2 +
             (origin.is_backward ? 1 : 0) + origin.range * 0x85ebca6bull;
    }
  };
  struct Instant {
    uint64_t ticks;
    int64_t nanoseconds;
  };

  void put(const Mark& mark) {
    if (!reader_) return;
    marks_.push_back(mark);
    if (marks_.size() >= (sources_.empty() ? kMaxMarks : kMaxMarksWithDevices)) flush();
  }
  Id named(ActivityKind kind, const std::string& name);
  static Instant now();
  double nanoseconds_per_tick() const;

  const uint64_t serial_;
  Reader* const reader_;   // null: nothing is recorded
  RangeSink* const sink_;  // or null
  std::vector<Activity> activities_;
  std::map<std::pair<ActivityKind, std::string>, Id> named_;
  std::vector<Origin> origins_;
  std::unordered_map<Origin, uint32_t, OriginHash> numbers_;  // of origins
  std::vector<Mark> marks_;
  std::vector<DeviceWork> work_;
  std::vector<Sample> samples_;
  std::vector<Source*> sources_;
  std::vector<std::string> notes_;
  std::vector<Span> interpreted_;
  uint32_t origin_ = 0;
  bool is_flushing_ = false;
  Instant first_, last_;  // last_: when the reader was last given something
};

/// A scope of the host; does nothing without a timeline.
class ActivityScope {
 public:
  ActivityScope(Timeline* timeline, Timeline::Id id) : timeline_(timeline) {
    if (timeline_) timeline_->begin(id);
  }
  ActivityScope(Timeline* timeline, ActivityKind kind) : ActivityScope(timeline, static_cast<Timeline::Id>(kind)) {}
  ~ActivityScope() {
    if (timeline_) timeline_->end();
  }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  Timeline* const timeline_;
};

}  // namespace tsl::exec
