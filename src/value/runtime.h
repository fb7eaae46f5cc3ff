// Where ops, host reads, random numbers and effects go: done at once, or recorded while a region is traced.
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

/// The operands of one call of a random op.
struct RandomState {
  Operand key;
  Operand counter;
};

/// What tracing has done so far.
struct TraceCounts {
  uint64_t traces = 0;    // recorded, or tried
  uint64_t retraces = 0;  // those of them for regions that had been traced before, in other circumstances
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  /// The listeners to op calls: tapes.
  OpListeners& listeners() { return listeners_; }

  /// Host memory for tensors built from host data.
  virtual Allocator& allocator() = 0;
  /// Where tensors are made unless a program says otherwise. Finds out, the first time, but opens no GPU.
  virtual Device default_device() = 0;
  /// A host tensor moved to where new tensors are made: ops().device().
  virtual Tensor to_device(Tensor host) = 0;
  /// A tensor with elements: computes a deferred one, which ends the segment being traced.
  virtual Tensor read(const Tensor& tensor) = 0;
  /// The number in a one-element tensor. While tracing it is a symbol, and the segment ends here.
  virtual Value read_number(const Tensor& tensor) = 0;
  /// As read(), and in host memory (the layout may change).
  virtual Tensor to_host(const Tensor& tensor) = 0;
  /// Whether the sole owner of this tensor may write its elements: false while deferred, while a tape listens,
  /// or when its elements are not in host memory.
  virtual bool may_write_in_place(const TensorData& tensor) = 0;

  /// Takes `count` numbers from the random stream.
  virtual RandomState next_random(Dim count) = 0;
  virtual void seed(uint64_t seed) = 0;

  /// Prints str(value) and a newline: now, or when a compiled region runs.
  virtual void effect_print(Value value) = 0;
  /// Calls `run`, which has a side effect (files, clock): now, or in order when a compiled region runs.
  virtual Value effect(Value (*run)(Context&, std::span<Value>), std::vector<Value> args) = 0;

  /// Of one device; zeros if it has not been used.
  virtual Counters counters(Device device) = 0;
  virtual TraceCounts trace_counts() const = 0;

  /// To be called when the host has had control: this may be another thread, or another engine has turned it to another
  /// GPU.
  virtual void resume() = 0;

  // While a region is traced.

  bool is_tracing() const { return is_tracing_; }
  void set_tracing(bool on) { is_tracing_ = on; }
  /// Makes a captured variable. The trace being recorded, if there is one, recognises it as its own.
  Ref<Cell> make_cell() const {
    if (is_tracing_) return Ref<Cell>(new TracedCell(last_trace_id_));
    return make_ref<Cell>();
  }
  uint32_t next_trace_id() { return ++last_trace_id_; }
  /// To be called before a captured variable is read or written.
  virtual void enter(Cell& cell) = 0;
  /// Ends the trace, if there is one, before something that happens but once.
  virtual void abort_trace(const std::string& reason) = 0;

  // Logs (--log).

  virtual bool logs(std::string_view topic) const = 0;
  virtual void log(std::string_view topic, const std::string& text) = 0;

 private:
  OpListeners listeners_;
  bool is_tracing_ = false;
  uint32_t last_trace_id_ = 0;
};

/// What runs while this lives is no part of the trace: the prelude, which is loaded when it is first needed.
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
