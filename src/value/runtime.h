// The interface for ops, host reads, random numbers and effects: they are performed at once, or recorded during a
// trace.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/counters.h"
#include "tensor/op.h"
#include "tensor/op_listeners.h"
#include "value/materialize.h"
#include "value/value.h"

namespace tsl {

class Context;

/// A function that has a side effect or depends on more than its arguments' types: files, the clock, elements of a
/// tensor. Its arguments contain no symbols.
using EffectFunction = Value (*)(Context&, std::span<Value>);

/// The operands that one call of a random op reserves.
struct RandomState {
  Operand key;
  Operand counter;
};

/// How profile() calls a function, and what it shows.
struct ProfileRequest {
  std::string name;         // the title; "": the function's
  std::string trace_file;   // "": no trace is written
  std::string sort, group;  // of the table: kRowOrders and kRowGroups of profile/profile_table.h
  int64_t rows = 0;         // of each table; 0: no table
  int64_t warmup = 0;       // calls before the profile
  int64_t steps = 0;        // calls in the profile; 0: one, whose result is returned
};

/// Counts the traces so far.
struct TraceCounts {
  uint64_t traces = 0;    // started, including aborted ones
  uint64_t retraces = 0;  // of these, traces of regions that had been traced before
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  /// The listeners to op calls: tapes.
  OpListeners& listeners() { return listeners_; }

  /// Returns the allocator of host memory, for tensors built from host data.
  virtual Allocator& allocator() = 0;
  /// Returns the device on which tensors are made by default. The first call determines it, without opening a GPU.
  virtual Device default_device() = 0;
  /// Moves a host tensor to the device for new tensors, ops().device().
  virtual Tensor to_device(Tensor host) = 0;
  /// Returns the tensor with its elements. Computes a deferred tensor, which ends the segment.
  virtual Tensor read(const Tensor& tensor) = 0;
  /// Reads the number in a one-element tensor. During a trace this ends the segment, and the result is a symbol.
  virtual Value read_number(const Tensor& tensor) = 0;
  /// As read(), and in host memory (the layout may change).
  virtual Tensor to_host(const Tensor& tensor) = 0;
  /// Whether the sole owner of this tensor may write its elements: false while deferred, while a tape listens,
  /// or when its elements are not in host memory.
  virtual bool may_write_in_place(const TensorData& tensor) = 0;

  /// Reserves `count` numbers of the random stream.
  virtual RandomState next_random(Dim count) = 0;
  virtual void seed(uint64_t seed) = 0;

  /// Prints str(value) and a newline: at once, or whenever the compiled region runs.
  virtual void effect_print(Value value) = 0;
  /// Calls `run`: at once, or in order whenever the compiled region runs.
  virtual Value effect(EffectFunction run, std::vector<Value> args) = 0;

  /// Performs an op between the ranks of a world at once, outside any trace. `call`: where the program has it.
  virtual Tensor perform_collective(Op op, const Tensor& x, const Attrs& attrs, Span call) = 0;

  /// Waits until all devices have done what they were given.
  virtual void wait() = 0;
  /// Returns the counters of a device; zeros if it has not been used.
  virtual Counters counters(Device device) = 0;
  virtual TraceCounts trace_counts() const = 0;
  /// Describes what was compiled so far for a function, or for everything (nil): the text of explain(). `all`: more
  /// than a screen for each region.
  virtual std::string explain(const Value& function, bool all) = 0;

  /// Forgets what was compiled for a function, or for everything (nil): the next calls are traced anew.
  virtual void recompile(const Value& function) = 0;

  /// Called when control returns from the host: this may be another thread, and another engine may have switched the
  /// thread to another GPU.
  virtual void resume() = 0;

  /// Calls a function of no arguments, and logs what took how long. Returns its result, or with `steps` the profile.
  virtual Value profile(const Value& function, const ProfileRequest& request) = 0;
  /// Calls a function of no arguments as a named range of the profile.
  virtual Value with_range(const std::string& name, const Value& function) = 0;

  // During a trace:

  bool is_tracing() const { return is_tracing_; }
  void set_tracing(bool on) { is_tracing_ = on; }
  /// Makes a captured variable. The trace being recorded, if there is one, recognises it as its own.
  Ref<Cell> make_cell() const {
    if (is_tracing_) return Ref<Cell>(new TracedCell(last_trace_id_));
    return make_ref<Cell>();
  }
  uint32_t next_trace_id() { return ++last_trace_id_; }

  // After a trace that has ended before its region (see PendingSymbols):

  /// Called when a trace has ended and the values in registers are materialized, and when its region has ended, too.
  void trace_has_ended() { ++ended_traces_; }
  void region_has_ended() { --ended_traces_; }
  /// Whether a trace has ended during the instruction that the interpreter runs: what its C++ code holds, and nothing
  /// else, may still refer to symbols of the trace.
  bool has_pending_symbols() const { return ended_traces_ != materialized_traces_; }
  /// Called between two instructions, when the values in registers are materialized.
  void clear_pending_symbols() { materialized_traces_ = ended_traces_; }
  /// Called before a captured variable is read or written.
  virtual void enter(Cell& cell) = 0;
  /// Aborts the trace, if there is one, before something that must happen exactly once.
  virtual void abort_trace(const std::string& reason) = 0;

  // Logs (--log).

  virtual bool logs(std::string_view topic) const = 0;
  virtual void log(std::string_view topic, const std::string& text) = 0;

  // Checkpoints.

  /// Returns what the random stream goes on from, a tuple of two ints, or sets it to what this has returned.
  virtual Value random_state() = 0;
  virtual void set_random_state(const Value& state) = 0;

 private:
  friend class PendingSymbols;

  OpListeners listeners_;
  bool is_tracing_ = false;
  uint32_t ended_traces_ = 0;         // of regions that are still running
  uint32_t materialized_traces_ = 0;  // of these, the ones that ended before the interpreter's instruction
  uint32_t last_trace_id_ = 0;
};

/// Begins a run of the interpreter. The instruction that called it remains pending, and what it holds is materialized
/// after the run.
class PendingSymbols {
 public:
  explicit PendingSymbols(Runtime& runtime) : runtime_(runtime), before_(runtime.materialized_traces_) {
    runtime.clear_pending_symbols();
  }
  ~PendingSymbols() { runtime_.materialized_traces_ = before_; }
  PendingSymbols(const PendingSymbols&) = delete;
  PendingSymbols& operator=(const PendingSymbols&) = delete;

 private:
  Runtime& runtime_;
  const uint32_t before_;
};

/// Suspends the trace during a scope, for loading a part of the prelude that is needed for the first time.
class TracingPause {
 public:
  explicit TracingPause(Runtime& runtime) : runtime_(runtime), was_tracing_(runtime.is_tracing()) {
    runtime.set_tracing(false);
  }
  ~TracingPause() { runtime_.set_tracing(was_tracing_); }
  TracingPause(const TracingPause&) = delete;
  TracingPause& operator=(const TracingPause&) = delete;

 private:
  Runtime& runtime_;
  const bool was_tracing_;
};

}  // namespace tsl
