// Compiled regions: functions and loop bodies that run from plans, without the interpreter.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/bytecode.h"
#include "jit/active_trace.h"
#include "vm/stack.h"

namespace tsl {

class Context;

/// A function (with what it captured), or a loop body, and all the ways through it that have been traced.
struct Region {
  const Proto* proto = nullptr;
  const Loop* loop = nullptr;  // null for a function
  std::vector<Ref<Cell>> captures;
  jit::Segment root;        // empty; its `next` are the ways in
  bool is_demoted = false;  // interpreted from now on; its own calls and loops become regions
  std::string demoted_because;

  size_t forgotten_ways = 0;  // that can never be gone again
  /// An input of any trace, and the facts last found in it. Holds nothing: at worst it tells of a variable that is
  /// gone.
  struct Seen {
    Root::Kind kind = Root::Kind::argument;
    uint32_t index = 0;
    const Cell* cell = nullptr;
    std::vector<Fact> facts;
    bool is_of(const Root& root) const {
      return kind == root.kind && (kind == Root::Kind::cell ? cell == root.cell.get() : index == root.index);
    }
  };
  std::vector<Seen> seen;

  /// What was last found in an input, or null.
  const std::vector<Fact>* seen_facts(const Root& root) const;
  void note_facts(const Root& root);
  /// A dimension with a name varies: its size is a symbol from the start.
  void note_annotations();
  /// Forgets the ways that depend on a function, or on a variable of a call, which nobody else holds, so that nobody
  /// can bring it again, and lets go of what it holds.
  void forget_dead_ways();
  /// Forgets all ways, and what was found in inputs.
  void forget_ways();
  /// Whether nobody else holds one of the captured variables, so that there is no such function any more.
  bool is_dead() const;
  std::string name(Context&) const;  // "step (digits.tsl:31)"
  void demote(Context&, const std::string& reason);
};

/// All regions of an engine.
class RegionCache {
 public:
  explicit RegionCache(const Tracing& tracing) : tracing_(tracing), context_(tracing.context) {}

  /// The trace being recorded, or null.
  ActiveTrace* trace() const { return trace_ && trace_->is_active() ? trace_ : nullptr; }
  /// Whether a region is running whose trace has been left: what was recorded is computed, its symbols are numbers.
  bool has_left_trace() const { return trace_ && !trace_->is_active(); }
  const TraceCounts& counts() const { return counts_; }

  /// Whether this function is interpreted although it could be a region.
  bool is_demoted(const Function& function) const;
  Value call(const Value& function, std::span<Value> args);
  std::optional<uint32_t> run_loop_body(Frame& frame, const Loop& loop);

 private:
  struct Entry {  // where the inputs of this run are, and where its outputs go
    const Value* function = nullptr;
    std::span<Value> args;
    Frame* frame = nullptr;
    const Loop* loop = nullptr;
  };

  enum class Outcome : uint8_t { done, untraced, failed };
  class BodyRegisters;

  /// Follows the tree with the values at hand; `path` is the way gone. Not done: an untraced way lies ahead, or the
  /// region has to be interpreted from there.
  Outcome advance(Region& region, const Entry& entry, std::vector<jit::Segment*>& path, Value& result, uint32_t& exit);
  bool inputs_fit(const Entry& entry) const;
  Region& find(const Proto& proto, const Loop* loop, const std::vector<Ref<Cell>>& captures);
  bool replay(Region& region, const Entry& entry, std::vector<jit::Segment*>& path, bool& failed, Value& result,
              uint32_t& exit);
  jit::Segment* match(jit::Segment& at, const Entry& entry);
  bool collect_inputs(const jit::Segment& segment, const Entry& entry);
  /// Makes the copies that the segment begins with. False if there is no memory for one.
  bool move_inputs(const jit::Segment& segment);
  std::span<const char> lend(const jit::Segment& segment);
  void put_outputs(const jit::Segment& segment, const Entry& entry, Value& result, uint32_t& exit);
  const Value& root_value(const Root& root, const Entry& entry) const;
  Value trace_function(Region& region, const Entry& entry, std::vector<jit::Segment*>& path, AfterReplay after_replay);
  uint32_t trace_loop_body(Region& region, const Entry& entry, std::vector<jit::Segment*>& path,
                           AfterReplay after_replay);
  template <class Body> void run_traced(ActiveTrace& trace, Body&& body);
  void log_trace(const Region& region, const Entry& entry, const std::vector<jit::Segment*>& path);
  void clear_run();

  const Tracing tracing_;
  Context& context_;
  std::unordered_map<const void*, std::vector<std::unique_ptr<Region>>> regions_;  // by Proto or Loop
  jit::Run run_;             // of the region being run; kept for its capacity
  std::vector<char> given_;  // per slot: the tensor is given up by the caller, unless somebody else holds it
  ActiveTrace* trace_ = nullptr;
  TraceCounts counts_;
};

}  // namespace tsl
