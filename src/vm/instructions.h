// The instructions that the dispatch loop does not do itself, and the slow paths of those that it does for numbers
// only. Each works on a frame's registers, honours the kill flags, and throws Failure with the frame unchanged
// where a failed statement could otherwise be observed.
#pragma once

#include "value/runtime.h"
#include "vm/cycles.h"
#include "vm/stack.h"

namespace tsl {
class Context;
}

namespace tsl::vm {

/// Empties a register that holds something counted, or a symbol, which the end of a trace would look for.
inline void clear(Value& v) {
  if (v.tag() >= Tag::symbol) v = Value();
}

/// a = b op right, where `right` is register c or a constant.
void binary_operation(Context& context, Frame& frame, const Instruction& i, ast::BinaryOp op, const Value& right);
void negate(Context& context, Frame& frame, const Instruction& i);
/// The truth of a op right, where `right` is register b or a constant.
bool compare(Context& context, Frame& frame, const Instruction& i, ast::BinaryOp op, const Value& right);
/// The truth of register a.
bool test(Context& context, Frame& frame, const Instruction& i);

void make_closure(Context& context, CycleCollector& cycles, Frame& frame, const Instruction& i);
void make_typed(Context& context, Frame& frame, const Instruction& i);
void make_list(Frame& frame, const Instruction& i);
void make_tuple(Frame& frame, const Instruction& i);
void make_record(Frame& frame, const Instruction& i);
void put_field(Frame& frame, const Instruction& i);
void spread(Frame& frame, const Instruction& i);
void make_range(Context& context, Frame& frame, const Instruction& i);
void unpack(Frame& frame, const Instruction& i);
void format(Context& context, Frame& frame, const Instruction& i);

void get_index(Context& context, Frame& frame, const Instruction& i, const Value& index);
void get_items(Context& context, Frame& frame, const Instruction& i);
void get_field(Context& context, Frame& frame, const Instruction& i);
void get_member(Context& context, Frame& frame, const Instruction& i);
void set_index(Context& context, Frame& frame, const Instruction& i);
void set_path(Context& context, Frame& frame, const Instruction& i);
/// The member of a module; fails if there is none or it is not set yet.
const Value& member_of(Context& context, const Module& module, Name name);

void start_range(Context& context, Frame& frame, const Instruction& i);
bool next_each(Context& context, Frame& frame, const Instruction& i);

/// A captured variable was used before its declaration has run.
[[noreturn]] void not_set(Name name);
/// What a captured variable holds. Cells are looked at through here, so that a trace learns which ones it depends on,
/// first of all on whether they are set.
inline Value& content(Runtime& runtime, Cell& cell, Name name) {
  if (runtime.is_tracing()) runtime.enter(cell);
  if (!cell.is_set) not_set(name);
  return cell.value;
}

}  // namespace tsl::vm
