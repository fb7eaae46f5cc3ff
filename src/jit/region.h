// Compiled regions: functions and loop bodies that run from plans, without the interpreter.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/bytecode.h"
#include "jit/trace_session.h"
#include "vm/stack.h"

namespace tsl {

class Context;

}  // namespace tsl

namespace tsl::jit {

/// A function (with its captured variables) or a loop body, with all its trace paths.
struct Region {
  const Proto* proto = nullptr;
  const Loop* loop = nullptr;  // null for a function
  std::vector<Ref<Cell>> captures;
  Segment root;                  // empty; its `next` are the first segments of the trace paths
  bool has_fallen_back = false;  // interpreted from now on; its own calls and loops become regions
  std::string fallback_reason;

  size_t evicted_paths = 0;  // trace paths that no later call could match
  /// The guards last recorded for an input. References nothing: it may describe a variable that no longer exists.
  struct ShapeHistory {
    InputSource::Kind kind = InputSource::Kind::argument;
    uint32_t index = 0;
    const Cell* cell = nullptr;
    std::vector<InputGuard> guards;
    bool describes(const InputSource& source) const {
      return kind == source.kind &&
             (kind == InputSource::Kind::cell ? cell == source.cell.get() : index == source.index);
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
  /// Evicts all trace paths and all shape histories.
  void evict_all_paths();
  /// Whether this region has the only reference to one of the captured variables, so that the function no longer
  /// exists.
  bool is_dead() const;
  std::string name(Context&) const;  // "step (digits.tsl:31)"
  void fall_back(Context&, const std::string& reason);
};

/// All regions of an engine.
class RegionCache {
 public:
  explicit RegionCache(const Tracing& tracing) : tracing_(tracing), context_(tracing.context) {}

  /// Returns the trace that is being recorded, or null.
  TraceSession* trace() const { return trace_ && trace_->is_active() ? trace_ : nullptr; }
  const TraceCounts& counts() const { return counts_; }

  /// Whether this function could be a region but is interpreted.
  bool has_fallen_back(const Function& function) const;
  Value call(const Value& function, std::span<Value> args);
  std::optional<uint32_t> run_loop_body(Frame& frame, const Loop& loop);

 private:
  struct Entry {  // the inputs of this run, and the destination of its outputs
    const Value* function = nullptr;
    std::span<Value> args;
    Frame* frame = nullptr;
    const Loop* loop = nullptr;
  };

  enum class Outcome : uint8_t { done, untraced, failed };
  class BodyRegisters;

  /// Replays segments with the values at hand; `path` receives them. If it does not finish, the rest of the region is
  /// untraced or must be interpreted.
  Outcome advance(Region& region, const Entry& entry, std::vector<Segment*>& path, Value& result, uint32_t& exit);
  bool inputs_fit(const Entry& entry) const;
  Region& find(const Proto& proto, const Loop* loop, const std::vector<Ref<Cell>>& captures);
  bool replay(Region& region, const Entry& entry, std::vector<Segment*>& path, bool& failed, Value& result,
              uint32_t& exit);
  Segment* match(Segment& at, const Entry& entry);
  bool bind_inputs(const Segment& segment, const Entry& entry);
  /// Makes the copies to other devices that the segment starts with. Returns false if there is no memory for one.
  bool move_inputs(const Segment& segment);
  void put_outputs(const Segment& segment, const Entry& entry, Value& result, uint32_t& exit);
  /// The value that an input has now, or null for constants and copies, which have no guards.
  const Value* source_value(const InputSource& source, const Entry& entry) const;
  Value trace_function(Region& region, const Entry& entry, std::vector<Segment*>& path, AfterReplay after_replay);
  uint32_t trace_loop_body(Region& region, const Entry& entry, std::vector<Segment*>& path, AfterReplay after_replay);
  template <class Body> void run_traced(TraceSession& trace, Body&& body);
  void log_trace(const Region& region, const Entry& entry, const std::vector<Segment*>& path);
  void clear_run();

  const Tracing tracing_;
  Context& context_;
  std::unordered_map<const void*, std::vector<std::unique_ptr<Region>>> regions_;  // by Proto or Loop
  Run run_;  // of the running region; kept for its capacity
  TraceSession* trace_ = nullptr;
  TraceCounts counts_;
};

}  // namespace tsl::jit
