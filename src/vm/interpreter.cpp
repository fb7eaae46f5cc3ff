#include "vm/interpreter.h"

#include <algorithm>
#include <new>

#include "tensor/scalar.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/materialize.h"
#include "value/runtime.h"
#include "vm/indexing.h"
#include "vm/instructions.h"
#include "vm/operators.h"

// Each instruction jumps directly to the next one, so that the processor predicts the jumps separately.
#if defined(__GNUC__)
#define TSL_COMPUTED_GOTO 1
#else
#define TSL_COMPUTED_GOTO 0
#endif

namespace tsl {

using ast::BinaryOp;

namespace {

bool both(Tag tag, const Value& a, const Value& b) { return a.is(tag) && b.is(tag); }
bool is_mixed(const Value& a, const Value& b) {
  return (a.is(Tag::real) && b.is(Tag::integer)) || (a.is(Tag::integer) && b.is(Tag::real));
}
/// Converts an int or a float.
double real_of(const Value& v) { return v.is(Tag::real) ? v.real() : static_cast<double>(v.integer()); }

// Division of host ints; b > 0.
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

void fill(Runtime& runtime, Cell& cell, Value& from, bool moves) {
  if (runtime.is_tracing()) runtime.enter(cell);
  if (moves) cell.value = std::move(from);
  else cell.value = from;
  cell.is_set = true;
}

Value new_cell(Runtime& runtime, bool is_mutable) {
  Ref<Cell> cell = runtime.make_cell();
  cell->is_mutable = is_mutable;
  return Value(std::move(cell));
}

void box(Runtime& runtime, Value& v) {
  Ref<Cell> cell = runtime.make_cell();
  cell->value = std::move(v);
  cell->is_set = true;
  v = Value(std::move(cell));
}

}  // namespace

Interpreter::Interpreter(Context& context) : context_(context), builtin_end_(values_.begin()) {}

Interpreter::~Interpreter() = default;

void Interpreter::run(const Run& run) {
  const PendingSymbols pending(context_.runtime());
  for (;;) {
    try {
      try {
        return dispatch(run);
      } catch (const std::bad_alloc&) { throw lack_of_memory(); }
    } catch (Failure& failure) {
      if (!recovers(run, failure)) throw;
    } catch (...) {  // not a failure of the program, so no handler catches it
      drop_frames(run);
      throw;
    }
  }
}

bool Interpreter::stops_at(const Run& run, const Frame* frame, const Instruction* pc) {
  const bool is_step = pc->op == Opcode::loop_body || (pc->op >= Opcode::call && pc->op <= Opcode::method_named);
  if (is_step && step_limit_ && ++steps_ > step_limit_) out_of_steps();
  if (context_.runtime().has_pending_symbols()) materialize_registers(run);
  if (frame != run.body_frame) return false;
  const uint32_t at = static_cast<uint32_t>(pc - frame->proto->code.data());
  return at < run.begin || at >= run.end || pc->op == Opcode::return_;
}

/// Has a sample taken, if one is asked for and its moment is over.
void Interpreter::look(std::string_view builtin) {
  if (sampler_) sampler_->look(frames_, builtin);
  else context_.watch.end_sample();
}

/// Materializes the values that pending operators and builtins have returned to the run.
void Interpreter::materialize_registers(const Run& run) {
  each_register(run.entry, [this](Value& value) { materialize(context_, value); });
  context_.runtime().clear_pending_symbols();
  release_replaced(run.entry);
}

/// Returns nil where no bar is to be shown. Replays of a trace count nothing, so a trace shows none either.
Value Interpreter::start_progress(const Value& iterable) {
  if (!progress_line_.write || context_.runtime().is_tracing()) return Value();
  return Value(make_ref<ProgressBar>(progress_line_, count_of_items(iterable)));
}

// This function is longer than others: it contains all instructions, a few lines each. What is not for numbers, or is
// long, is in instructions.cpp and interpreter_calls.cpp.
//
// SAVE() stores the pc in the frame for code that may throw, read the frame or run code. LOAD() continues in the
// innermost frame. NEXT(pc) dispatches the instruction at pc. POLL() has samples taken, from now on behind each
// instruction until one is taken, and ends the run if it is to end.
void Interpreter::dispatch(const Run& run) {
  Frame* frame;
  const Instruction* pc;
  const Instruction* code;
  Value* base;
  const Value* constants;
  RunWatch& watch = context_.watch;
  [[maybe_unused]] bool is_watched = run.body_frame || step_limit_ || watch.sample_at() != 0;

#define LOAD()                                  \
  do {                                          \
    frame = frames_.top();                      \
    pc = frame->pc;                             \
    base = frame->base;                         \
    code = frame->proto->code.data();           \
    constants = frame->proto->constants.data(); \
  } while (0)
#define SAVE() (frame->pc = pc)

#if TSL_COMPUTED_GOTO
  static const void* const direct[] = {
#define TSL_OPCODE(name, roles, text) &&do_##name,
#include "bytecode/opcodes.def"
#undef TSL_OPCODE
  };
  static const void* const watched[] = {
#define TSL_OPCODE(name, roles, text) &&watch,
#include "bytecode/opcodes.def"
#undef TSL_OPCODE
  };
  const void* const* table = is_watched ? watched : direct;
#define WATCH() (table = watched)
#define CASE(name) do_##name
#define NEXT(where)                            \
  do {                                         \
    pc = (where);                              \
    goto* table[static_cast<uint8_t>(pc->op)]; \
  } while (0)
  LOAD();
  NEXT(pc);
watch:
  if (watch.sample_at() != 0) look();
  SAVE();
  if (stops_at(run, frame, pc)) return;
  if (!run.body_frame && !step_limit_ && watch.sample_at() == 0) table = direct;  // nothing counts steps any more
  goto* direct[static_cast<uint8_t>(pc->op)];
#else
#define WATCH() (is_watched = true)
#define CASE(name) case Opcode::name
#define NEXT(where) \
  do {              \
    pc = (where);   \
    goto again;     \
  } while (0)
  LOAD();
again:
  if (is_watched) {
    if (watch.sample_at() != 0) look();
    SAVE();
    if (stops_at(run, frame, pc)) return;
    is_watched = run.body_frame || step_limit_ || watch.sample_at() != 0;
  }
  switch (pc->op) {
    case Opcode::count_: return;
#endif

#define POLL()                      \
  do {                              \
    if (watch.is_pending()) {       \
      if (watch.sample_at() != 0) { \
        look();                     \
        WATCH();                    \
      }                             \
      SAVE();                       \
      watch.check();                \
    }                               \
  } while (0)
#define JUMP_IF(condition) NEXT((condition) ? code + pc[1].wide() : pc + 2)

  CASE(move) : base[pc->a] = base[pc->b];
  NEXT(pc + 1);
  CASE(take) : base[pc->a] = std::move(base[pc->b]);
  NEXT(pc + 1);
  CASE(constant) : base[pc->a] = constants[pc->wide()];
  NEXT(pc + 1);
  CASE(typed) : SAVE();
  vm::make_typed(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(builtin) : SAVE();
  base[pc->a] = *context_.builtins().find(frame->proto->names[pc->b]);
  NEXT(pc + 1);
  CASE(drop) : if (pc->kills_a()) vm::clear(base[pc->a]);
  NEXT(pc + 1);

  CASE(new_cell) : base[pc->a] = new_cell(context_.runtime(), pc->b != 0);
  NEXT(pc + 1);
  CASE(box) : box(context_.runtime(), base[pc->a]);
  NEXT(pc + 1);
  CASE(get_cell) : SAVE();
  base[pc->a] = vm::content(context_.runtime(), base[pc->b].as<Cell>(), nullptr);
  NEXT(pc + 1);
  CASE(set_cell) : fill(context_.runtime(), base[pc->a].as<Cell>(), base[pc->b], pc->kills_b());
  NEXT(pc + 1);
  CASE(get_capture) : SAVE();
  base[pc->a] = vm::content(context_.runtime(), *frame->function().captures[pc->b], frame->proto->captures[pc->b].name);
  NEXT(pc + 1);
  CASE(set_capture) : fill(context_.runtime(), *frame->function().captures[pc->a], base[pc->b], pc->kills_b());
  NEXT(pc + 1);
  CASE(get_global) : SAVE();
  base[pc->a] = vm::content(context_.runtime(), *frame->proto->globals[pc->b], frame->proto->global_names[pc->b]);
  NEXT(pc + 1);
  CASE(set_global) : fill(context_.runtime(), *frame->proto->globals[pc->a], base[pc->b], pc->kills_b());
  NEXT(pc + 1);
  CASE(closure) : vm::make_closure(context_, cycles_, *frame, *pc);
  NEXT(pc + 1);

// `exact` is where an op of ints leaves a result that may not fit; the slow path then fails.
#define ARITHMETIC(name, right, fits, on_integers, sign)                        \
  CASE(name) : {                                                                \
    const Value& b = base[pc->b];                                               \
    const Value& c = right[pc->c];                                              \
    [[maybe_unused]] int64_t exact;                                             \
    if (both(Tag::integer, b, c) && (fits)) base[pc->a].become(on_integers);    \
    else if (both(Tag::real, b, c)) base[pc->a].become(b.real() sign c.real()); \
    else if (is_mixed(b, c)) base[pc->a].become(real_of(b) sign real_of(c));    \
    else {                                                                      \
      SAVE();                                                                   \
      vm::binary_operation(context_, *frame, *pc, BinaryOp::TSL_OP, c);         \
    }                                                                           \
    NEXT(pc + 1);                                                               \
  }
#define TSL_OP add
  ARITHMETIC(add, base, !__builtin_add_overflow(b.integer(), c.integer(), &exact), exact, +)
  ARITHMETIC(add_k, constants, !__builtin_add_overflow(b.integer(), c.integer(), &exact), exact, +)
#undef TSL_OP
#define TSL_OP sub
  ARITHMETIC(sub, base, !__builtin_sub_overflow(b.integer(), c.integer(), &exact), exact, -)
  ARITHMETIC(sub_k, constants, !__builtin_sub_overflow(b.integer(), c.integer(), &exact), exact, -)
#undef TSL_OP
#define TSL_OP mul
  ARITHMETIC(mul, base, !__builtin_mul_overflow(b.integer(), c.integer(), &exact), exact, *)
  ARITHMETIC(mul_k, constants, !__builtin_mul_overflow(b.integer(), c.integer(), &exact), exact, *)
#undef TSL_OP
#define TSL_OP div
  ARITHMETIC(div, base, true, real_of(b) / real_of(c), /)
  ARITHMETIC(div_k, constants, true, real_of(b) / real_of(c), /)
#undef TSL_OP
#undef ARITHMETIC

#define DIVISION(name, op, right, function)                                                                  \
  CASE(name) : {                                                                                             \
    const Value& b = base[pc->b];                                                                            \
    const Value& c = right[pc->c];                                                                           \
    if (both(Tag::integer, b, c) && c.integer() > 0) base[pc->a].become(function(b.integer(), c.integer())); \
    else {                                                                                                   \
      SAVE();                                                                                                \
      vm::binary_operation(context_, *frame, *pc, BinaryOp::op, c);                                          \
    }                                                                                                        \
    NEXT(pc + 1);                                                                                            \
  }
  DIVISION(floordiv, floordiv, base, floor_div)
  DIVISION(floordiv_k, floordiv, constants, floor_div)
  DIVISION(mod, mod, base, floor_mod)
  DIVISION(mod_k, mod, constants, floor_mod)
#undef DIVISION

  CASE(binary) : SAVE();
  vm::binary_operation(context_, *frame, *pc, static_cast<BinaryOp>(pc->extra()), base[pc->c]);
  NEXT(pc + 1);
  CASE(negate) : {
    const Value& b = base[pc->b];
    if (b.is(Tag::integer) && b.integer() != INT64_MIN) base[pc->a].become(-b.integer());
    else if (b.is(Tag::real)) base[pc->a].become(-b.real());
    else {
      SAVE();
      vm::negate(context_, *frame, *pc);
    }
    NEXT(pc + 1);
  }

  CASE(invert) : SAVE();
  vm::invert(context_, *frame, *pc);
  NEXT(pc + 1);

  CASE(plus) : SAVE();
  vm::plus(*frame, *pc);
  NEXT(pc + 1);

  CASE(test) : {
    const Value& a = base[pc->a];
    bool is_true;
    if (a.is(Tag::boolean)) is_true = a.boolean();
    else {
      SAVE();
      is_true = vm::test(context_, *frame, *pc);
    }
    JUMP_IF(is_true == (pc->extra() != 0));
  }
#define COMPARISON(name, op, symbol, right)                                 \
  CASE(name) : {                                                            \
    const Value& a = base[pc->a];                                           \
    const Value& b = right[pc->b];                                          \
    bool is_true;                                                           \
    if (both(Tag::integer, a, b)) is_true = a.integer() symbol b.integer(); \
    else if (both(Tag::real, a, b)) is_true = a.real() symbol b.real();     \
    else {                                                                  \
      SAVE();                                                               \
      is_true = vm::compare(context_, *frame, *pc, BinaryOp::op, b);        \
    }                                                                       \
    JUMP_IF(is_true == (pc->extra() != 0));                                 \
  }
  COMPARISON(test_eq, eq, ==, base)
  COMPARISON(test_ne, ne, !=, base)
  COMPARISON(test_lt, lt, <, base)
  COMPARISON(test_le, le, <=, base)
  COMPARISON(test_gt, gt, >, base)
  COMPARISON(test_ge, ge, >=, base)
  COMPARISON(test_eq_k, eq, ==, constants)
  COMPARISON(test_ne_k, ne, !=, constants)
  COMPARISON(test_lt_k, lt, <, constants)
  COMPARISON(test_le_k, le, <=, constants)
  COMPARISON(test_gt_k, gt, >, constants)
  COMPARISON(test_ge_k, ge, >=, constants)
#undef COMPARISON
  CASE(test_settled) : SAVE();
  JUMP_IF(vm::is_settled(context_, base[pc->a]));
  CASE(jump) : NEXT(code + pc->wide());

  CASE(list) : vm::make_list(*frame, *pc);
  NEXT(pc + 1);
  CASE(tuple) : vm::make_tuple(*frame, *pc);
  NEXT(pc + 1);
  CASE(record) : vm::make_record(*frame, *pc);
  NEXT(pc + 1);
  CASE(put_field) : vm::put_field(*frame, *pc);
  NEXT(pc + 1);
  CASE(map) : vm::make_map(*frame, *pc);
  NEXT(pc + 1);
  CASE(put_entry) : SAVE();
  vm::put_entry(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(spread) : SAVE();
  vm::spread(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(range) : SAVE();
  vm::make_range(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(unpack) : SAVE();
  vm::unpack(*frame, *pc);
  NEXT(pc + 1);
  CASE(unpack_rest) : SAVE();
  vm::unpack(*frame, *pc);
  NEXT(pc + 1);
  CASE(without) : SAVE();
  vm::without(*frame, *pc);
  NEXT(pc + 1);
  CASE(append) : vm::append(*frame, *pc);
  NEXT(pc + 1);
  CASE(append_all) : SAVE();
  vm::append_all(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(format) : SAVE();
  vm::format(context_, *frame, *pc);
  NEXT(pc + 1);

  CASE(get_index) : SAVE();
  vm::get_index(context_, *frame, *pc, base[pc->c]);
  NEXT(pc + 1);
  CASE(get_index_k) : SAVE();
  vm::get_index(context_, *frame, *pc, constants[pc->c]);
  NEXT(pc + 1);
  CASE(get_items) : SAVE();
  vm::get_items(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(get_field) : SAVE();
  vm::get_field(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(get_member) : SAVE();
  vm::get_member(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(set_index) : SAVE();
  vm::set_index(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(set_path) : SAVE();
  vm::set_path(context_, *frame, *pc);
  NEXT(pc + 1);

  CASE(call) : {
    Value* slot = base + pc->a;
    POLL();
    SAVE();
    if (slot->is(Tag::function)) {
      const Proto* proto = &proto_of(slot->as<Function>());
      const uint32_t flags = frame->flags;
      if (proto->direct_arity == pc->b && !(flags & Frame::kOpen)) {
        base = slot + 1;
        values_.reserve(base + proto->register_count);
        frame = frames_.push();
        code = proto->code.data();
        constants = proto->constants.data();
        *frame = {code, base, proto, flags & Frame::kInterpreted};
        NEXT(code);
      }
    }
    if (!prepare_call(slot, pc->b, nullptr, 0)) NEXT(pc + 1);
    LOAD();
    NEXT(pc);
  }
  CASE(call_named) : {
    SAVE();
    const CallShape& shape = frame->proto->call_shapes[pc->b];
    if (!prepare_call(base + pc->a, shape.count(), &shape, 0)) NEXT(pc + 1);
    LOAD();
    NEXT(pc);
  }
  CASE(call_spread) : SAVE();
  call_spread(*frame, *pc);
  NEXT(pc + 1);
  CASE(method) : SAVE();
  if (!prepare_method(base + pc->a, pc->b, nullptr, frame->proto->names[pc->c])) NEXT(pc + 1);
  LOAD();
  NEXT(pc);
  CASE(method_named) : {
    SAVE();
    const CallShape* shapes = &frame->proto->call_shapes[pc->b];
    if (!prepare_method(base + pc->a, shapes->count(), shapes, frame->proto->names[pc->c])) NEXT(pc + 1);
    LOAD();
    NEXT(pc);
  }
  CASE(return_) : {
    base[-1] = std::move(base[pc->a]);  // releases the function, which is not needed any more
    for (Value *v = base, *end = base + frame->proto->register_count; v < end; ++v) vm::clear(*v);
    const bool ends_run = frame->flags & Frame::kEntry;
    frames_.pop();
    if (ends_run) return;
    LOAD();
    NEXT(pc + 1);
  }

  CASE(start_range) : SAVE();
  vm::start_range(context_, *frame, *pc);
  NEXT(pc + 1);
  CASE(next_range) : {
    Value* state = base + pc->a;  // the next number, and the number of remaining ones
    const int64_t left = state[1].integer();
    if (left == 0) NEXT(pc + 2);
    const int64_t number = state[0].integer();
    state[0].become(wrapping_add(number, 1));
    state[1].become(wrapping_sub(left, 1));
    base[pc->b].become(number);
    NEXT(code + pc[1].wide());
  }
  CASE(start_each) : base[pc->a + 1] = Value(int64_t{0});
  NEXT(pc + 1);
  CASE(next_each) : SAVE();
  JUMP_IF(vm::next_each(context_, *frame, *pc));
  CASE(start_progress) : base[pc->a] = start_progress(base[pc->b]);
  NEXT(pc + 1);
  CASE(count_progress)
      : if (!base[pc->a].is_nil()) static_cast<ProgressBar&>(base[pc->a].as<BuiltinFunction>()).count();
  NEXT(pc + 1);
  CASE(loop_body) : {
    POLL();
    if (frame->flags & Frame::kOpen) {
      SAVE();
      const auto next = hooks_->run_loop_body(*frame, frame->proto->loops[pc->wide()]);
      if (next) NEXT(code + *next);
    }
    NEXT(pc + 1);
  }

  CASE(test_given) : JUMP_IF(!base[pc->a].is(Tag::absent));
  CASE(check_parameter) : SAVE();
  check_parameter(context_, frame->proto->signature, pc->a, base);
  NEXT(pc + 1);
  CASE(check_result) : SAVE();
  check_result(context_, frame->proto->signature, base[pc->a], base);
  NEXT(pc + 1);
  CASE(guard) : for (Value* v = base + pc->a, *end = v + pc->b; v < end; ++v)* v = Value();
  NEXT(pc + 1);
  CASE(rethrow) : if (base[pc->a].is(Tag::builtin)) {
    SAVE();
    throw Failure(static_cast<vm::HeldFailure&>(base[pc->a].as<BuiltinFunction>()).failure);
  }
  NEXT(pc + 1);
  CASE(test_left) : JUMP_IF((base[pc->a].is(Tag::integer) && base[pc->a].integer() == pc->b) == (pc->extra() != 0));
  CASE(import_) : SAVE();
  base[pc->a] =
      context_.import(frame->proto->names[pc->b], pc->extra() != 0, frame->proto->spans[frame->pc_index()].source);
  NEXT(pc + 1);

#if !TSL_COMPUTED_GOTO
}
#endif
#undef JUMP_IF
#undef POLL
#undef WATCH
#undef NEXT
#undef CASE
#undef SAVE
#undef LOAD
}

}  // namespace tsl
