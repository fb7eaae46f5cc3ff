// Implements the instructions that the dispatch loop does not, and the slow paths of instructions that it implements
// for numbers only. Each works on a frame's registers and respects the kill flags. If it throws Failure, the frame is
// unchanged wherever a handler could observe it.
#pragma once

#include "value/runtime.h"
#include "vm/cycles.h"
#include "vm/stack.h"

namespace tsl {
class Context;
}

namespace tsl::vm {

/// Clears a register that holds a counted reference or a symbol: the end of a trace visits both.
inline void clear(Value& v) {
  if (v.tag() >= Tag::symbol) v = Value();
}

/// Sets a = b op right, where `right` is register c or a constant.
void binary_operation(Context& context, Frame& frame, const Instruction& i, ast::BinaryOp op, const Value& right);
void negate(Context& context, Frame& frame, const Instruction& i);
void invert(Context& context, Frame& frame, const Instruction& i);
void plus(Frame& frame, const Instruction& i);
/// Whether an answer of a chain of comparisons is false and no tensor.
bool is_settled(Context& context, const Value& answer);
/// Returns the truth of a op right, where `right` is register b or a constant.
bool compare(Context& context, Frame& frame, const Instruction& i, ast::BinaryOp op, const Value& right);
/// Returns the truth of register a.
bool test(Context& context, Frame& frame, const Instruction& i);

/// A failure while the `finally` of its `try` runs; in a register of the frame.
class HeldFailure final : public BuiltinFunction {
 public:
  explicit HeldFailure(const Failure& held) : failure(held) {}
  const Failure failure;
};

void make_closure(Context& context, CycleCollector& cycles, Frame& frame, const Instruction& i);
void make_typed(Context& context, Frame& frame, const Instruction& i);
void make_list(Frame& frame, const Instruction& i);
void make_tuple(Frame& frame, const Instruction& i);
void make_record(Frame& frame, const Instruction& i);
void put_field(Frame& frame, const Instruction& i);
void make_map(Frame& frame, const Instruction& i);
void put_entry(Context& context, Frame& frame, const Instruction& i);
void spread(Context& context, Frame& frame, const Instruction& i);
void make_range(Context& context, Frame& frame, const Instruction& i);
void unpack(Frame& frame, const Instruction& i);
void without(Frame& frame, const Instruction& i);
void append(Frame& frame, const Instruction& i);
void append_all(Context& context, Frame& frame, const Instruction& i);
void format(Context& context, Frame& frame, const Instruction& i);

void get_index(Context& context, Frame& frame, const Instruction& i, const Value& index);
void get_items(Context& context, Frame& frame, const Instruction& i);
void get_field(Context& context, Frame& frame, const Instruction& i);
void get_member(Context& context, Frame& frame, const Instruction& i);
void set_index(Context& context, Frame& frame, const Instruction& i);
void set_path(Context& context, Frame& frame, const Instruction& i);
/// Returns the member of a module; fails if there is none or it is not set yet.
const Value& member_of(Context& context, const Module& module, Name name);

void start_range(Context& context, Frame& frame, const Instruction& i);
bool next_each(Context& context, Frame& frame, const Instruction& i);

/// Fails: a captured variable was used before its declaration has run.
[[noreturn]] void not_set(Name name);
/// Returns the content of a captured variable. All reads of cells use this function, so that a trace depends on the
/// cells it reads, and on whether they are set.
inline Value& content(Runtime& runtime, Cell& cell, Name name) {
  if (runtime.is_tracing()) runtime.enter(cell);
  if (!cell.is_set) not_set(name);
  return cell.value;
}

}  // namespace tsl::vm
