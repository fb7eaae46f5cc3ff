// The interpreter: runs bytecode on a stack of Values.
//
// Calls of TSL functions push a Frame and never recurse on the C++ stack. A callee's registers start at the
// caller's argument registers, so arguments are not copied. Builtins that take functions, and the compiler, come
// back in through call() and the entry points below, each of which nests one run on the C++ stack.
//
// For the compiler
//  - Before a frame is pushed for a function that has @compile, or for any function called from an `open` frame,
//    RegionHooks::call_mode(function) is asked; if it says `region`, RegionHooks::call_region(function, arguments)
//    gives the result instead. Arguments are bound and checked: one per parameter, Value::absent() where a default will
//    be computed.
//  - At `loop_body` in an open frame, RegionHooks::run_loop_body(frame, loop) may run the body by other means and say
//    at which pc of the frame to go on; without an answer the body is interpreted.
//  - A module's top level is open under --compile; call_bound() makes an open frame on request. No other frame is.
//  - To run code under a trace: call_bound() for a function body, run_body() for a loop body in its frame. Both may
//    be nested in hooks. Set a step limit to bound them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bytecode/bytecode.h"
#include "value/value.h"
#include "vm/cycles.h"
#include "vm/region_hooks.h"
#include "vm/stack.h"

namespace tsl {

class Context;

class Interpreter {
 public:
  explicit Interpreter(Context& context);
  ~Interpreter();
  /// Names the tracer. Called once, before anything runs.
  void connect(RegionHooks& hooks) { hooks_ = &hooks; }

  /// Takes over compiled code; it lives as long as the interpreter, because functions point to it.
  const Proto& own(std::unique_ptr<Proto> proto);

  /// Runs a module's top level, in an open frame if asked for, and gives its value.
  Value run_module(const Proto& proto, bool open);
  /// Calls anything callable; moves the arguments out of `args`.
  Value call(const Value& callee, std::span<Value> args, const CallShape* shape = nullptr);

  // ---- For the compiler ----------------------------------------------------------------------------------

  /// Runs a function's body on bound arguments (see above), which are moved out of `args`, without asking for a
  /// region for this call.
  Value call_bound(const Value& function, std::span<Value> args, bool open = false);
  /// Runs a loop's body once, in its frame (the innermost), from its first instruction until it leaves: returns the
  /// pc at which the frame would go on (loop.end, one of loop.exits; a return_ has not been executed). On failure
  /// the frame stays, with the registers as they were when it failed.
  uint32_t run_body(Frame& frame, const Loop& loop);
  /// Whether another region may begin in those that run. Each takes C++ stack that interpreting would not.
  bool has_stack_for_region() const;
  /// The innermost frame.
  Frame& frame() { return *frames_.top(); }

  /// Where the program is: the innermost frame's instruction, frames of the prelude left out.
  Span location() const;
  /// How many frames there are.
  size_t depth() const { return frames_.size(); }
  /// Whether a `try` of a frame beyond the first `depth` would catch an error raised now.
  /// `body`: the first of them runs this loop body, and only a `try` within counts.
  bool is_guarded(size_t depth, const Loop* body) const;
  /// Calls visit(value) for all registers of the frames beyond the first `depth`, and for arguments on their way.
  template <class Visit> void each_register(size_t depth, Visit&& visit) {
    if (depth >= frames_.size()) return;
    for (Value *v = frames_[depth].base, *end = free_slot(); v < end; ++v) visit(*v);
  }

  /// Called when a trace has ended that began at the frame at `depth`. Keeps what it has replaced in registers until
  /// the run of that frame comes to its next instruction: the operators and builtins on their way above it may refer to
  /// parts of it.
  void keep_replaced(size_t depth, std::vector<Value> replaced) {
    ended_.push_back({depth, frames_.size(), std::move(replaced)});
  }
  /// Lets go of what is kept for frames from `depth` on.
  void release_replaced(size_t depth) {
    while (!ended_.empty() && ended_.back().depth >= depth) ended_.pop_back();
  }

  /// Back-edges and calls executed while a step limit is set. Reaching the limit tells the runtime, once.
  uint64_t steps() const { return steps_; }
  /// From now on count steps, up to `limit`. 0 stops counting. Takes effect on runs that start later.
  void set_step_limit(uint64_t limit) {
    step_limit_ = limit;
    steps_ = 0;
  }

 private:
  /// Where a run stops: at the return of its entry frame, or where `body_frame` leaves [begin, end).
  struct Run {
    size_t entry = 0;
    const Frame* body_frame = nullptr;
    uint32_t begin = 0, end = 0;
  };

  /// Where runs are on the C++ stack, as addresses: 0 outside of all.
  struct NativeStack {
    uintptr_t base = 0;        // of the outermost entry
    uintptr_t top = 0;         // of the innermost one
    uintptr_t of_regions = 0;  // how much of what is between them would not be there if everything were interpreted
  };

  /// A trace that has ended beneath operators and builtins that are still on their way.
  struct EndedTrace {
    size_t depth;        // of its region's frame
    size_t pending_run;  // the runs that have begun below this frame have not come to their next instruction
    std::vector<Value> replaced;
  };

  /// Runs until the entry frame returns (its value goes below its registers) or the body is left.
  void run(const Run& run);
  void dispatch(const Run& run);
  /// Whether a run in a body frame must stop before the instruction at `pc`. Counts steps.
  bool stops_at(const Run& run, const Frame* frame, const Instruction* pc);
  /// Whether a trace has ended beneath operators or builtins that are still on their way. What they hold, and nobody
  /// else sees, refers to the trace's symbols, which go with it: it is settled as it comes back to the stack, in each
  /// of the runs.
  bool holds_ended_trace() const;
  void materialize_registers(size_t entry);
  /// Pushes the frame of the function in *slot, whose bound arguments lie above it.
  void enter(Value* slot, uint32_t flags);

  class SlotGuard;
  class NativeDepth;
  /// The lowest place on the stack that nobody uses.
  Value* free_slot();

  // calls.cpp
  /// Calls *slot with `count` values above it. A TSL function gets a frame and true is returned; anything else is
  /// done at once and its result is in *slot.
  bool prepare_call(Value* slot, size_t count, const CallShape* shape, uint32_t flags);
  bool prepare_function(Value* slot, size_t count, const CallShape* shape, uint32_t flags);
  /// The same for a method call: the object is the first of `count` values above *slot. `shapes` may be null; it is
  /// the call's shape with and without the object.
  bool prepare_method(Value* slot, size_t count, const CallShape* shapes, Name name);
  void call_builtin(Value* slot, size_t count, const CallShape* shape);

  // errors.cpp
  void locate(Error& error) const;
  bool unwind(const Run& run, const Failure& failure);
  Value error_record(const Error& error) const;
  [[noreturn]] void interrupted();
  void drop_frames(const Run& run);
  void out_of_steps();

  Context& context_;
  RegionHooks* hooks_ = nullptr;
  CycleCollector cycles_;
  std::vector<std::unique_ptr<Proto>> protos_;
  ValueStack values_;
  FrameStack frames_;
  Value* builtin_end_;  // the end of what builtins being run use of the stack
  NativeStack native_;
  std::vector<EndedTrace> ended_;  // for frames further and further in
  uint64_t steps_ = 0;
  uint64_t step_limit_ = 0;
};

}  // namespace tsl
