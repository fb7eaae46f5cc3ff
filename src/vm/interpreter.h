// The interpreter: runs bytecode on a stack of Values.
//
// A call of a TSL function pushes a Frame and does not recurse on the C++ stack. The callee's registers start at the
// caller's argument registers, so arguments are not copied. Builtins that call functions, and the tracer, enter through
// call() and the functions below; each of these nests one run on the C++ stack.
//
// For the tracer
//  - Before the interpreter pushes a frame for a function with @compile, or for any function that an `open` frame
//  calls,
//    it calls RegionHooks::call_mode(function). If this returns `region`, RegionHooks::call_region(function, arguments)
//    computes the result instead. Arguments are bound and checked: one per parameter, Value::absent() where a default
//    will be computed.
//  - At `loop_body` in an open frame, RegionHooks::run_loop_body(frame, loop) may run the body by other means and
//  return
//    the pc at which the frame continues. If it returns nothing, the body is interpreted.
//  - What a function with @interpret calls is interpreted, too: the hooks are not asked.
//  - A module's top level is open under --compile, and call_bound() opens a frame on request. No other frame is open.
//  - To run code under a trace: call_bound() runs a function body, and run_body() a loop body in its frame. Hooks may
//    call both. A step limit bounds them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bytecode/bytecode.h"
#include "value/value.h"
#include "vm/call_sampler.h"
#include "vm/code_store.h"
#include "vm/cycles.h"
#include "vm/progress.h"
#include "vm/region_hooks.h"
#include "vm/stack.h"

namespace tsl {

class Context;

/// A variable of the running program.
struct LiveVariable {
  Name name = nullptr;
  Span origin;  // of its declaration
  const Value* value = nullptr;
};

class Interpreter {
 public:
  explicit Interpreter(Context& context);
  ~Interpreter();
  /// Sets the tracer. Called once, before anything runs.
  void connect(RegionHooks& hooks) { hooks_ = &hooks; }

  /// Returns the code that there is.
  CodeStore& code() { return code_; }
  /// Frees the code that only itself refers to, and returns the numbers of its sources. Nothing must be running.
  std::vector<uint32_t> free_unused_code() { return code_.free_unused(cycles_, *hooks_); }
  /// Frees code that has run, unless functions refer to it. Returns whether it did.
  bool release(Ref<Code> code) { return code_.release(std::move(code), *hooks_); }

  /// Runs a module's top level, in an open frame if `open`, and returns its value.
  Value run_module(const Ref<Code>& code, bool open);
  /// Calls any callable value; moves the arguments out of `args`. `shape` names the last of them, if given.
  Value call(const Value& callee, std::span<Value> args, const CallShape* shape = nullptr);

  // ---- For the tracer ------------------------------------------------------------------------------------

  /// Runs a function's body on bound arguments (see above), which are moved out of `args`. Does not call the hooks for
  /// this call itself.
  Value call_bound(const Value& function, std::span<Value> args, bool open = false);
  /// Runs a loop's body once in its frame, which is the innermost. Returns the pc at which the frame continues
  /// (loop.end, one of loop.exits, or a return_ that is not executed yet). If it fails, the frame stays, with its
  /// registers as they are.
  uint32_t run_body(Frame& frame, const Loop& loop);
  /// Whether the C++ stack has room for a region within the running ones: unlike interpreting, each nested region uses
  /// it.
  bool has_stack_for_region() const;
  /// Sets who takes samples of what runs, or nobody (null), and returns who did.
  CallSampler* set_sampler(CallSampler* sampler) { return std::exchange(sampler_, sampler); }
  /// Returns the terminal's line for the bars of loops over progress(xs).
  ProgressLine& progress_line() { return progress_line_; }
  /// Returns the innermost frame.
  Frame& frame() { return *frames_.top(); }
  const FrameStack& frames() const { return frames_; }
  /// Whether the standard library's code runs.
  bool is_in_library() const { return frames_.size() > 0 && frames_[frames_.size() - 1].proto->is_library; }

  /// Returns the source position of the innermost frame outside the standard library.
  Span location() const { return origin().span; }
  /// Returns the dtype of floats that the file of that frame uses, and that of the innermost frame's file.
  DType reals() const;
  DType promoted_reals() const { return frames_.empty() ? DType::f32 : frames_[frames_.size() - 1].proto->reals; }
  /// As location(), with the work of the innermost library function that has one.
  Origin origin() const;
  /// Returns the calls in frames [begin, end) outside the standard library, innermost first.
  std::vector<CallSite> calls(size_t begin, size_t end) const;
  /// Returns the variables of modules that functions use, then those of the frames, outermost first. Their values are
  /// there until the interpreter continues. A variable may occur more than once.
  std::vector<LiveVariable> variables() const;
  /// Returns the variables that a frame sees: those of modules that its module's functions use, then what its function
  /// has captured, then its own. A later one hides an earlier one of its name.
  std::vector<LiveVariable> variables_of(size_t frame) const;
  /// Returns the number of frames.
  size_t depth() const { return frames_.size(); }
  void set_depth_limit(size_t limit) { frames_.set_limit(limit); }
  /// Returns the innermost function of the frames from `depth` on that must be compiled in one piece; null if there is
  /// none.
  const Proto* whole_function(size_t depth) const;
  /// Whether a `try` of the frames from `depth` on would catch an error raised now. `body`: the frame at `depth` runs
  /// this loop body, and only a `try` inside it counts.
  bool is_guarded(size_t depth, const Loop* body) const;
  /// Calls visit(value) for all registers of the frames from `depth` on, and for arguments of pending calls.
  template <class Visit> void each_register(size_t depth, Visit&& visit) {
    if (depth >= frames_.size()) return;
    for (Value *v = frames_[depth].base, *end = free_slot(); v < end; ++v) visit(*v);
  }

  /// Keeps the values that a trace which began at the frame at `depth` had in registers, until that frame's run reaches
  /// its next instruction: pending operators and builtins above may refer to parts of them.
  void keep_replaced(size_t depth, std::vector<Value> replaced) { replaced_.push_back({depth, std::move(replaced)}); }
  /// Releases the replaced values that are kept for frames from `depth` on.
  void release_replaced(size_t depth) {
    while (!replaced_.empty() && replaced_.back().depth >= depth) replaced_.pop_back();
  }

  /// Returns the back-edges and calls executed while a step limit is set. At the limit, RegionHooks::out_of_steps() is
  /// called, once.
  uint64_t steps() const { return steps_; }
  /// Starts counting steps, up to `limit`; 0 stops counting. Affects runs that start later.
  void set_step_limit(uint64_t limit) {
    step_limit_ = limit;
    steps_ = 0;
  }

 private:
  /// The end of a run: the return of its entry frame, or a pc outside [begin, end) in `body_frame`.
  struct Run {
    size_t entry = 0;
    const Frame* body_frame = nullptr;
    uint32_t begin = 0, end = 0;
  };

  /// The extent of the runs on the C++ stack, as addresses; 0 outside of all runs.
  struct NativeStack {
    uintptr_t base = 0;        // of the outermost entry
    uintptr_t top = 0;         // of the innermost entry
    uintptr_t of_regions = 0;  // the part between them that only regions use
  };

  /// What a trace has replaced in registers while operators and builtins above its frame were pending.
  struct Replaced {
    size_t depth;  // of the frame of its region
    std::vector<Value> values;
  };

  /// Runs until the entry frame returns (its value is stored below its registers) or the body is left.
  void run(const Run& run);
  void dispatch(const Run& run);
  /// Whether a run of a loop body must stop before the instruction at `pc`. Counts steps.
  bool stops_at(const Run& run, const Frame* frame, const Instruction* pc);
  void materialize_registers(const Run& run);
  void look(std::string_view builtin = {});
  /// Pushes a frame for the function in *slot, whose bound arguments are above it.
  void enter(Value* slot, uint32_t flags);

  class SlotGuard;
  class NativeDepth;
  /// Returns the lowest unused slot of the stack.
  Value* free_slot();

  // interpreter_calls.cpp
  /// Calls *slot with the `count` values above it. Pushes a frame for a TSL function and returns true; any other callee
  /// runs at once and leaves its result in *slot.
  bool prepare_call(Value* slot, size_t count, const CallShape* shape, uint32_t flags);
  bool prepare_function(Value* slot, size_t count, const CallShape* shape, uint32_t flags);
  RegionHooks::CallMode call_mode(const Value& function);
  /// As prepare_call() for a method: the object is the first of the `count` values above *slot. `shapes` is null, or
  /// the call's shape with and without the object.
  bool prepare_method(Value* slot, size_t count, const CallShape* shapes, Name name);
  void call_spread(Frame& frame, const Instruction& i);
  bool prepare_entry(Value* slot, size_t count, const CallShape* shape);
  bool prepare_member(Value* slot, size_t count, const CallShape* shape);
  bool call_complex(Value* slot, const Signature& signature, std::span<Value> args);
  void call_builtin(Value* slot, size_t count, const CallShape* shape);
  void convert_argument(Value* slot, size_t count, const CallShape* shape);

  // interpreter_unwind.cpp
  void locate(Error& error) const;
  Failure lack_of_memory() const;
  bool recovers(const Run& run, Failure& failure);
  bool unwind(const Run& run, const Failure& failure);
  Value error_record(const Error& error) const;
  void drop_frames(const Run& run);
  void out_of_steps();

  Value start_progress(const Value& iterable);

  Context& context_;
  RegionHooks* hooks_ = nullptr;
  CycleCollector cycles_;
  CodeStore code_;
  ProgressLine progress_line_;
  CallSampler* sampler_ = nullptr;
  ValueStack values_;
  FrameStack frames_;
  Value* builtin_end_;  // end of the stack slots that running builtins use
  NativeStack native_;
  std::vector<Replaced> replaced_;  // ordered from outer to inner frames
  uint64_t steps_ = 0;
  uint64_t step_limit_ = 0;
};

}  // namespace tsl
