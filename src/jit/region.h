// Compiled regions: functions and loop bodies that run from plans, without the interpreter.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/bytecode.h"
#include "jit/guard_notes.h"
#include "jit/trace_pacing.h"
#include "jit/trace_session.h"
#include "vm/stack.h"

namespace tsl {

class Context;

}  // namespace tsl

namespace tsl::jit {

/// The limits that calls of a declaration have met, each of which is told once.
struct RegionLimits {
  bool is_interpreted = false, has_many_traces = false, has_many_sizes = false;
};

/// The activities of a declaration's regions in a timeline.
struct RegionActivities {
  uint64_t serial = 0;  // of the timeline
  exec::Timeline::Id replay = 0, trace = 0;
  std::vector<exec::Timeline::Id> segments = {};  // by position on a trace path
  /// Returns the activity of the segments at a position.
  exec::Timeline::Id segment(exec::Timeline& timeline, size_t position);
};

/// A function (with its captured variables) or a loop body, with all its trace paths.
struct Region {
  const Proto* proto = nullptr;
  const Loop* loop = nullptr;  // null for a function
  std::vector<Ref<Cell>> captures;
  DType reals = DType::f32;  // of floats of which nothing names a dtype: in the library, as its caller says
  Segment root;              // empty; its `next` are the first segments of the trace paths
  // Of all regions of this declaration:
  TracePacing* pacing = nullptr;
  SpecialisationNames* names = nullptr;
  RegionActivities* activities = nullptr;
  RegionLimits* limits = nullptr;
  bool was_traced = false;
  bool is_renewed = false;  // made after recompile()
  uint64_t last_use = 0;    // in the time of `pacing`

  /// The guards last recorded for an input. References nothing: it may describe a variable that no longer exists.
  struct ShapeHistory {
    InputSource::Kind kind = InputSource::Kind::argument;
    uint32_t index = 0;
    const Cell* cell = nullptr;
    std::vector<InputGuard> guards;
    Value key = {};  // of an entry of a map
    bool describes(const InputSource& source) const {
      if (kind != source.kind) return false;
      if (kind == InputSource::Kind::cell) return cell == source.cell.get();
      return index == source.index && identical_keys(key, source.key);
    }
  };
  std::vector<ShapeHistory> shape_histories;

  /// Returns the guards last recorded for an input, or null.
  const std::vector<InputGuard>* last_guards(const InputSource& source) const;
  void update_history(const InputSource& source);
  /// Marks named dimensions as varying: their sizes are symbols in the first trace already.
  void add_annotated_shapes();
  /// Evicts traces guarded on a closure that only this cache references: no later call can match them.
  void evict_dead_paths();
  /// Evicts trace paths, the least recently used first, until there is room for one more. Does not evict `path`.
  void make_room(const std::vector<Segment*>& path);
  /// Evicts the end of a path: the segments that no other trace path shares.
  void evict_end(const std::vector<Segment*>& path);
  /// Evicts all trace paths and all shape histories.
  void evict_all_paths();
  /// Whether this region has the only reference to one of the captured variables, so that the function no longer
  /// exists.
  bool is_dead() const;
  bool must_be_whole() const { return !loop && proto->request.whole; }
  RegionNote note(Context&) const;
  /// Called when the region cannot be traced further than `at`: calls that fit no trace path are interpreted for a
  /// while. Warns if the program asks for the region.
  void fall_back(const Tracing&, const std::string& reason, Span at);
  /// Whether the program asks for the region by @compile, and not --compile for all that is to be had.
  bool is_asked_for() const { return !loop && proto->is_compiled; }
};

/// The regions of one declaration: of a loop, or of functions that captured different variables. Those of the library
/// differ by their callers' floats, too.
struct RegionGroup {
  TracePacing pacing;
  SpecialisationNames names;
  RegionActivities activities;
  RegionLimits limits;
  bool is_stale = false;         // recompile() was called: the next use begins anew
  bool is_interpreting = false;  // one of the regions is running, and calls of any of them are interpreted
  std::vector<std::unique_ptr<Region>> regions;
};

/// All regions of an engine.
class RegionCache {
 public:
  explicit RegionCache(const Tracing& tracing) : tracing_(tracing), context_(tracing.context) {}

  /// Returns the trace that is being recorded, or null.
  TraceSession* trace() const { return trace_ && trace_->is_active() ? trace_ : nullptr; }
  const TraceCounts& counts() const { return counts_; }

  /// Whether a call of this function is interpreted because it is a recursive call of a region that is.
  bool is_interpreting(const Function& function) const;
  Value call(const Value& function, std::span<Value> args);
  std::optional<uint32_t> run_loop_body(Frame& frame, const Loop& loop);
  /// Tells once that calls of a function with @compile are interpreted.
  void tell_interpreted(const Function& function, const std::string& reason, std::string hint);
  /// Forgets the regions of a function and of its loops, or with null all: their next use is traced anew.
  void recompile(const Proto* function);
  /// Records sums over ranks in all regions that are traced from now on, and traces known ones anew.
  void record_sums();
  /// Calls visit(value) for each value and cell that the regions of a function and of its loops refer to.
  void each_reference(const Proto& function, const std::function<void(const Value&)>& visit) const;
  /// Frees the regions of a function and of its loops, none of which is running.
  void forget(const Proto& function);
  /// Returns the regions that have trace paths, in the order of the source, and the number of their paths.
  std::vector<std::pair<RegionNote, size_t>> traced() const;

 private:
  struct Entry {  // the inputs of this run, and the destination of its outputs
    const Value* function = nullptr;
    std::span<Value> args;
    Frame* frame = nullptr;
    const Loop* loop = nullptr;
  };

  enum class Outcome : uint8_t { done, untraced, failed };
  static RunKind kind_of(Outcome outcome);
  class BodyRegisters;
  class Interpreting;

  /// Replays segments with the values at hand; `path` receives them. If it does not finish, the rest of the region is
  /// untraced or must be interpreted.
  Outcome advance(Region& region, const Entry& entry, std::vector<Segment*>& path, Value& result, uint32_t& exit);
  bool inputs_fit(const Entry& entry) const;
  RegionGroup& group_of(const Proto& proto, const Loop* loop);
  /// Returns the group's activities in the engine's timeline, which must exist.
  const RegionActivities& activities(RegionGroup& group, const Proto& proto, const Loop* loop) const;
  Region& find(RegionGroup& group, const Proto& proto, const Loop* loop, const std::vector<Ref<Cell>>& captures);
  /// Whether a region waits and has no trace path, so that the call is interpreted. Counts the call.
  bool skips(Region& region);
  /// Counts a call that is interpreted in a wait. Throws Failure (limit) if the function must be compiled in one piece.
  void count_interpreted(Region& region);
  bool replay(Region& region, const Entry& entry, std::vector<Segment*>& path, bool& failed, Value& result,
              uint32_t& exit);
  /// Runs a segment's plan. The host waits for its errors only if they would be raised before something else happens.
  /// `position`: of the segment on its trace path.
  bool run(Segment& segment, const Entry& entry, Region& region, size_t position);
  void warn_of_reads(const Segment& segment);
  Segment* match(Segment& at, const Entry& entry);
  bool bind_inputs(const Segment& segment, const Entry& entry);
  /// Makes the copies to other devices that the segment starts with. Returns false if there is no memory for one.
  bool move_inputs(const Segment& segment);
  void put_outputs(const Segment& segment, const Entry& entry, Value& result, uint32_t& exit);
  /// The value that an input has now, or null for constants and copies, which have no guards.
  const Value* source_value(const InputSource& source, const Entry& entry) const;
  Value trace_function(Region& region, const Entry& entry, std::vector<Segment*>& path, AfterReplay after_replay);
  uint32_t trace_loop_body(Region& region, const Entry& entry, std::vector<Segment*>& path, AfterReplay after_replay);
  template <class Body> void run_traced(const Region& region, TraceSession& trace, Body&& body);
  // region_notes.cpp
  Difference compare(const Segment& candidate, const Entry& entry, const std::vector<Segment*>& path);
  TraceReason reason_for(const Region& region, const Entry& entry, const std::vector<Segment*>& path);
  void warn_of_sizes(const Region& region);
  /// Tells observers, and the user as tell() does, that calls meet a limit. `prefix`: of the reason, for the user.
  void tell_limit(const RegionNote& note, const Proto& proto, const std::string& reason, std::string hint,
                  const char* prefix = "");
  void notify_trace(const Region& region, const Entry& entry, const std::vector<Segment*>& path);
  void notify_run(const Region& region, RunKind kind) const;
  void clear_run();

  const Tracing tracing_;
  Context& context_;
  std::unordered_map<const void*, RegionGroup> groups_;  // by Proto or Loop
  Run run_;                                              // of the running region; kept for its capacity
  bool records_sums_ = false;
  TraceSession* trace_ = nullptr;
  TraceCounts counts_;
};

}  // namespace tsl::jit
