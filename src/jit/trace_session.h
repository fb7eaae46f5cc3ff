// One attempt to trace a region: the interpreter runs it, ops are recorded, and effects are deferred until their
// segment has been computed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/input_guards.h"
#include "jit/output_template.h"
#include "jit/segment.h"
#include "jit/trace_observer.h"
#include "jit/unused_results.h"
#include "syntax/ast.h"
#include "value/runtime.h"

namespace tsl {

class Context;
class Interpreter;
struct Loop;
struct Proto;
struct RegisterName;

}  // namespace tsl

namespace tsl::jit {

class InputPrefix;
class VaryingMap;
struct Region;

/// The parts that all traces of an engine share.
struct Tracing {
  Context& context;
  Interpreter& interpreter;
  exec::Devices& devices;
  /// Tells the other ranks of the sums of a plan that was launched; `has_failed`: on its elements.
  using AnnounceSums = std::function<void(std::span<const RecordedSum>, const Run&, bool has_failed)>;
  AnnounceSums announce_sums;
  bool fast_numerics = false;  // kernels need not round between ops, where functions allow that
  const TraceObservers* observers = nullptr;
  std::shared_ptr<PlanBudget> plans = std::make_shared<PlanBudget>();

  bool observed() const { return observers && !observers->empty(); }
  /// As jit::run_plan(); announces the plan's sums over ranks. Returns whether it was done.
  bool run_plan(Segment& segment, Run& run, std::optional<size_t> own_frames = {}) const;
};

/// The place from which a region reads an input.
struct InputSource {
  enum class Kind : uint8_t { argument, reg, cell, outcome, constant, moved, opened, entry, presence };
  Kind kind = Kind::argument;
  uint32_t index = 0;  // number of the argument, register or outcome; moved: slot of the original; opened, entry,
                       // presence: symbol for the length of the list or map that the code looks at
  Value key;           // entry, presence: of the value that is read, absent without one; whether there is one
  Ref<Cell> cell;
  bool is_set = true;  // cell: whether the variable had been declared
  Tensor constant;     // a tensor that the region builds from constants only
  Layout layout;       // moved: layout of the original, relative to the slot's element (0, 0, …)
  Device device;       // moved: target of the copy
  uint32_t slot = 0;   // moved: slot of the copy
  std::vector<InputGuard> guards;
  std::string name;  // of the variable, for messages
  Span origin;       // of its declaration

  /// Whether the caller does not read the input after the region: an argument is moved to its call, and a register
  /// that a loop body writes is replaced. The segment keeps the slots of other registers.
  bool may_donate() const { return kind == Kind::argument || kind == Kind::reg; }
  /// Sets the name of an argument or a register; `variable` is null for a temporary.
  void set_name(const RegisterName* variable);
};

/// When an effect is performed: after the errors of all earlier runs, since people see it, or beside runs on a device
/// that may still fail. What they make passes to other ranks, which end when this one ends by the error.
enum class EffectOrder : uint8_t { after_errors, beside_errors };

/// A call at the end of a segment that uses a file, the clock or a whole tensor. What it returns is an input of the
/// next segment, which guards it as any other.
struct Effect {
  EffectFunction run = nullptr;
  EffectOrder order = EffectOrder::after_errors;
  std::vector<OutputTemplate> args;
};

/// Inputs, outputs and effects of a segment.
struct SegmentInterface : SegmentData {
  std::vector<InputSource> sources;     // inputs that this segment reads first
  std::vector<OutputTemplate> printed;  // in order
  std::optional<Effect> effect;         // after the prints
  // The last segment only:
  OutputTemplate result;
  std::vector<std::pair<Ref<Cell>, OutputTemplate>> cells;     // assigned captured variables
  std::vector<std::pair<uint16_t, OutputTemplate>> registers;  // a loop body's variables
  uint32_t exit = 0;                                           // the pc at which the frame continues after a loop body
};

/// Returns the inputs and outputs of a segment that a trace session has made.
inline const SegmentInterface& interface_of(const Segment& segment) {
  return static_cast<const SegmentInterface&>(*segment.interface);
}

/// Performs an effect with the values of this run, outside any trace, and adds its outcome to the run.
void perform(Context& context, const Effect& effect, Run& run);

/// Thrown to unwind a trace if its segment failed when it was computed, or memory ran out. The region is then
/// interpreted from its start. Not an error of the program.
struct RestartTrace {};

/// The state of a trace, and the calls that change it:
///
///     replaying ──end of the known path──▶ recording ──a segment is cut──▶ cut ──compute──▶ recording
///     replaying, recording ──commit, abort, fail──▶ materialized
///     any state before ──discard──▶ discarded
///
/// Example: a call of `step` follows two known segments and then takes a new branch. The trace starts in `replaying`
/// with these two segments in its path, and ops return the results computed already. After the second segment it is
/// `recording`, and ops become nodes. At the end of `step`, commit() cuts the last segment (`cut`), computes it
/// (`recording`), and materializes.
enum class TraceState : uint8_t {
  replaying,     // follows the known path: computes and prints nothing again
  recording,     // ops become nodes of the current segment
  cut,           // a segment was cut and is not computed yet: its values only have slots
  materialized,  // recording has ended, and all deferred tensors have elements
  discarded,     // recording has ended, and captured variables have their old values
};

/// What a trace does after the known path.
enum class AfterReplay : uint8_t { record, interpret };

/// Traces or replays one run. `path` is the known path of this run, whose segments' values are in `run`. The trace
/// replays it and then records, or continues eagerly. Computed segments are appended to `path`.
class TraceSession {
 public:
  TraceSession(const Tracing& tracing, Region& region, Run& run, std::vector<Segment*>& path, AfterReplay after_replay);
  ~TraceSession();

  /// Whether ops are deferred, because recording has not ended.
  bool is_active() const { return state_ < TraceState::materialized; }
  uint32_t id() const { return id_; }
  /// Returns the number of frames outside the region (for a loop body, one less, as it shares its frame).
  size_t depth() const { return depth_; }
  const Loop* loop() const;

  /// Restricts the compile options for all ops since the last cut and all later ones: the region's function, or one
  /// that it calls, has this request. `fast_numerics` applies if the request does not specify numerics.
  void restrict_to(const ast::CompileRequest& request, bool fast_numerics = true);
  Value take_input(InputSource source, const Value& value);
  /// Called when the code looks at the elements of a list that varies: they become inputs of the current segment.
  std::vector<Value> open(ListPrefix& prefix, std::string name, Span origin);
  /// Called when the code looks at a map that varies: makes a part of it, or all, an input of the current segment.
  Value look(InputSource::Kind kind, const InputEntries& entries, const Value& key, std::string name, Span origin);
  /// Called before a captured variable is used: records it as an input.
  void enter(Cell& cell);
  /// Records an op, and fills `results`, which have these types.
  void record(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, std::span<const TensorType> types,
              const Origin& origin, Device device, std::span<Tensor> results);
  /// Called before an op is recorded. Ends the segment if the op is on another device.
  void enter_device(Device device);
  /// Whether a sum over ranks is recorded as other ops are. If not, it is an effect.
  bool records_sums() const { return run_.records_sums; }
  /// Called before an op is recorded that may fail on its elements. Ends a segment with sums over ranks: they must not
  /// be made again when the code is interpreted that has failed.
  void end_sums();
  /// Tells observers of a call that its op's definition makes.
  void notify_composition(const CompositionNote& note) const;
  /// Copies a tensor to another device; the copy is contiguous.
  Tensor move(const Tensor& tensor, Device device);
  /// Called for every view that is made.
  void watch(const Tensor& original, const Tensor& view);
  /// Reads a one-element tensor as a number: a symbol, or a plain number if the trace has just ended.
  Value read_number(const Tensor& tensor);
  /// Reads a tensor with all elements. This aborts the trace if the tensor is deferred.
  Tensor read(const Tensor& tensor);
  void print(Value value);
  /// Whether the current segment prints.
  bool prints() const { return !printed_.empty(); }
  /// Ends the segment and performs an effect, once: a replay of this run returns the same outcome.
  Value perform(EffectFunction run, const std::vector<Value>& args, EffectOrder order = EffectOrder::after_errors);
  /// Cuts the segment or aborts the trace if it has grown too large.
  void check_limits();
  /// Ends recording: computes all pending ops. The interpreter continues eagerly.
  void abort(const std::string& reason);

  /// Ends the trace at the end of its region. The result and the registers get their elements. `kept`: inputs that the
  /// caller reads again.
  void commit(Value& result, std::vector<std::pair<uint16_t, Value*>> registers, uint32_t exit,
              std::vector<Value> kept = {});
  /// Called before an error is caught in the region. Its message may contain any number, so the trace pins all of them.
  /// If memory has run out, throws RestartTrace instead: that is no result of the program to depend on, and ops may be
  /// incomplete.
  void error_caught(ErrorKind kind);
  /// Ends the trace after the program has failed in the region: flushes earlier effects and keeps the new values of
  /// captured variables. If these cannot be computed, the trace is not materialized.
  void fail();
  bool is_materialized() const { return state_ == TraceState::materialized; }
  /// Restores the captured variables' old values, unless the trace is materialized.
  void discard();

 private:
  struct Entered {
    Ref<Cell> cell;
    Value original;
    Value abstracted;
    bool was_set;
  };

  SegmentInterface& interface() { return *interface_; }
  const std::vector<InputGuard>* expected_guards(const InputSource& source) const;
  Tensor deferred(const Tensor& tensor);
  bool has_made(const Cell& cell) const;
  bool escapes(const Value& value) const;
  bool any_escapes(const Value& result, const std::vector<std::pair<uint16_t, Value*>>& registers) const;
  /// The last part of a segment: host reads, an effect, or the end of the region.
  struct SegmentEnd {
    SegmentEndKind kind = SegmentEndKind::end;
    std::vector<Tensor> reads{};
    EffectFunction effect = nullptr;
    std::span<const Value> effect_args{};
    EffectOrder effect_order = EffectOrder::after_errors;
    bool is_last = false;
  };

  /// Ends the segment. Computes it, unless it belongs to the path being replayed.
  void end_segment(const SegmentEnd& end);
  /// Returns the running function that must be compiled in one piece; null if there is none.
  const Proto* whole_function() const;
  /// Throws Failure (limit) if a running function must be compiled in one piece, and the segment ends within it.
  void require_whole(const SegmentEnd& end) const;
  std::unique_ptr<Segment> build_segment(const SegmentEnd& end);
  void set_cell_name(InputSource& source) const;
  SegmentNote begin_note(const SegmentEnd& end) const;
  void notify_segment(SegmentNote note) const;
  void watch_plans(Segment& segment) const;
  void compute(Segment& segment);
  void flush_effects(const Segment& segment);
  void note_unused_results(const graph::Graph& graph);
  void begin_segment();
  void flush();
  void stop(TraceState state);
  void materialize();

  const Tracing& tracing_;
  Context& context_;
  Region& region_;
  Run& run_;
  std::vector<Segment*>& path_;
  size_t position_ = 0;  // number of segments replayed or recorded so far
  const AfterReplay after_replay_;
  TraceState state_;
  uint32_t id_;
  size_t depth_;
  graph::PlanOptions options_{.graphs = true, .fast_numerics = true};  // as all functions so far allow
  std::shared_ptr<SymbolTable> symbols_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<SegmentInterface> interface_;
  uint32_t next_slot_ = 0;
  uint32_t effects_ = 0;  // performed or replayed so far
  uint32_t element_writes_ = 0;
  uint32_t first_symbol_ = 0;
  size_t first_guard_ = 0;
  UnusedResults unused_results_;
  std::vector<Error> warnings_;       // about this segment, shown once it is on the path
  std::vector<Value> printed_;        // in this segment
  exec::FailureSites failure_sites_;  // of this segment
  std::vector<RecordedSum> sums_;     // in this segment
  Tensor last_sum_;                   // of these, which the next one comes after
  std::vector<Entered> entered_;
  std::unordered_set<const Cell*> entered_cells_;
  std::vector<std::pair<TensorData*, Tensor>> constants_;  // of this segment: with elements -> deferred
  std::vector<Ref<InputPrefix>> prefixes_;                 // of lists that vary
  std::vector<Ref<VaryingMap>> varying_maps_;
  // Set by commit(), for the last segment:
  Value* result_ = nullptr;
  std::vector<std::pair<uint16_t, Value*>> registers_;
  std::vector<Value> kept_;
  uint32_t exit_ = 0;
};

}  // namespace tsl::jit
