// One attempt to trace a region: the interpreter runs it, ops are recorded, and effects are deferred until their
// segment has been computed.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/input_guards.h"
#include "jit/output_template.h"
#include "jit/segment.h"
#include "syntax/ast.h"
#include "value/runtime.h"

namespace tsl {

class Context;
class Interpreter;
struct Loop;

}  // namespace tsl

namespace tsl::jit {

struct Region;

/// What all traces of an engine share.
struct Tracing {
  Context& context;
  Interpreter& interpreter;
  exec::Devices& devices;
  bool fast_numerics = false;  // what is compiled need not round between ops, where functions allow it
  const graph::CompileLog* compile_log = nullptr;  // null if compiling reports nothing
};

/// Where a region finds an input.
struct InputSource {
  enum class Kind : uint8_t { argument, reg, cell, constant, moved } kind = Kind::argument;
  uint32_t index = 0;  // argument or register; moved: the slot of the run that it is a copy of
  Ref<Cell> cell;
  bool is_set = true;  // cell: whether the variable had been declared
  Tensor constant;     // a tensor the region builds from nothing but constants
  Layout layout;       // moved: of the original, from the slot's element (0, 0, …)
  Device device;       // moved: where to
  uint32_t slot = 0;   // moved: of the copy
  std::vector<InputGuard> guards;
};

/// What a segment of a region needs besides its plan.
struct SegmentInterface : SegmentData {
  std::vector<InputSource> sources;     // inputs first needed in this segment
  std::vector<OutputTemplate> printed;  // in order
  // The last segment only:
  OutputTemplate result;
  std::vector<std::pair<Ref<Cell>, OutputTemplate>> cells;     // assigned captured variables
  std::vector<std::pair<uint16_t, OutputTemplate>> registers;  // a loop body's variables
  uint32_t exit = 0;                                           // where the frame goes on after a loop body
};

/// Thrown to unwind a trace whose segment failed when it was computed, or that found no memory; the region is then
/// interpreted again from its start. Not an error of the program.
struct RestartTrace {};

/// Where a trace stands, and the calls that take it on:
///
///     replaying ──end of the known path──▶ recording ──a segment is cut──▶ cut ──compute──▶ recording
///     replaying, recording ──commit, abort, fail──▶ materialized
///     any state before ──discard──▶ discarded
///
/// An example: a call of `step` follows two known segments and then takes a new branch. The trace starts in `replaying`
/// with these two in its path; ops give back what they computed. After the second it is `recording`: ops become nodes.
/// At the end of `step`, commit() cuts the last segment (`cut`), computes it (`recording`), and materializes.
enum class TraceState : uint8_t {
  replaying,     // follows the known path: nothing is computed or printed again
  recording,     // ops become nodes of the present segment
  cut,           // a segment was cut and is not computed yet: of its values there are only the slots
  materialized,  // recording is over, and everything deferred has its elements
  discarded,     // recording is over, and captured variables are what they were before
};

/// What a trace does at the end of the known path.
enum class AfterReplay : uint8_t { record, interpret };

/// `path` is the known path of this run (its segments' values are in `run`): the trace replays it and then records, or
/// goes on eagerly. Segments computed on the way are appended to `path`.
class TraceSession {
 public:
  TraceSession(const Tracing& tracing, Region& region, Run& run, std::vector<Segment*>& path, AfterReplay after_replay);
  ~TraceSession();

  /// Whether ops are deferred: recording is not over.
  bool is_active() const { return state_ < TraceState::materialized; }
  uint32_t id() const { return id_; }
  /// The frames outside the region (for a loop body, whose frame is shared, one less).
  size_t depth() const { return depth_; }
  const Loop* loop() const;

  /// The region's function, or one that is called in it, has such a request: what is recorded from now on, and what has
  /// been since the last cut, is compiled no more freely. `fast_numerics`: what goes where the request leaves that
  /// open.
  void restrict_to(const ast::CompileRequest& request, bool fast_numerics = true);
  Value take_input(InputSource source, const Value& value);
  /// Called before a captured variable is used.
  void enter(Cell& cell);
  Tensor record(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, const TensorType& type,
                Device device);
  /// To be called before an op is recorded: ops of another device are in another segment.
  void enter_device(Device device);
  /// A contiguous tensor on another device.
  Tensor move(const Tensor& tensor, Device device);
  /// To be called for every view that is made.
  void watch(const Tensor& original, const Tensor& view);
  /// A one-element tensor as a number: a symbol, or the number if the trace ended on the way here.
  Value read_number(const Tensor& tensor);
  /// A tensor with elements. Reading more than a number aborts the trace.
  Tensor read(const Tensor& tensor);
  void print(Value value);
  /// Aborts, or cuts the segment, if the trace has grown too large.
  void check_limits();
  /// Ends recording: computes what is pending, and lets the interpreter go on eagerly.
  void abort(const std::string& reason);

  /// The region has run to its end. The result and the registers become values with elements.
  void commit(Value& result, std::vector<std::pair<uint16_t, Value*>> registers, uint32_t exit);
  /// An error is about to be caught in the region. Its message may show any number, so the trace depends on all. But of
  /// want of memory it must not depend at all: that is no outcome of the program, and leaves things half done. Then
  /// RestartTrace is thrown.
  void error_caught(ErrorKind kind);
  /// The program failed in the region: flushes the effects that came before, and captured variables keep their new
  /// values. If these cannot be computed, the trace is not materialized.
  void fail();
  bool is_materialized() const { return state_ == TraceState::materialized; }
  /// Puts captured variables back to what they were before, unless the trace is materialized.
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
  /// Ends the segment: computes it, unless it is part of the path being replayed.
  void end_segment(const std::vector<Tensor>& reads, bool is_last);
  std::unique_ptr<Segment> build_segment(const std::vector<Tensor>& reads, bool is_last);
  void log_guards(const Segment& segment) const;
  void compute(Segment& segment);
  void flush_effects(const Segment& segment);
  void begin_segment();
  void flush();
  void stop(TraceState state);
  void materialize();
  void evict_all_paths();

  const Tracing& tracing_;
  Context& context_;
  Region& region_;
  Run& run_;
  std::vector<Segment*>& path_;
  size_t position_ = 0;  // segments of the path replayed
  const AfterReplay after_replay_;
  TraceState state_;
  uint32_t id_;
  size_t depth_;
  graph::PlanOptions options_{.graphs = true, .fast_numerics = true};  // as free as all functions so far let them be
  std::shared_ptr<SymbolTable> symbols_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<SegmentInterface> interface_;
  uint32_t next_slot_ = 0;
  uint32_t first_symbol_ = 0;
  size_t first_guard_ = 0;
  std::vector<Value> printed_;  // in this segment
  std::vector<Entered> entered_;
  std::unordered_set<const Cell*> entered_cells_;
  std::vector<std::pair<TensorData*, Tensor>> constants_;  // of this segment: with elements -> deferred
  // Set by commit() for the last segment:
  Value* result_ = nullptr;
  std::vector<std::pair<uint16_t, Value*>> registers_;
  uint32_t exit_ = 0;
};

}  // namespace tsl::jit
