// Compiles expressions.
#include <limits>

#include "base/error_names.h"
#include "bytecode/function_compiler.h"
#include "bytecode/queries.h"
#include "syntax/literals.h"
#include "value/builtin.h"
#include "value/format.h"
#include "value/numbers.h"

namespace tsl {

using namespace ast;

/// Evaluates `e` into register `dst`.
void FunctionCompiler::into(const Expr& e, Reg dst) {
  switch (e.kind) {
    case ExprKind::nil: return load_constant(Value(), dst, e.span);
    case ExprKind::boolean: return load_constant(Value(as<BoolExpr>(e).value), dst, e.span);
    case ExprKind::integer: return load_constant(Value(as<IntExpr>(e).value), dst, e.span);
    case ExprKind::real: return load_constant(Value(as<RealExpr>(e).value), dst, e.span);
    case ExprKind::string: emit_wide(Opcode::constant, e.span, dst, string_constant(as<StringExpr>(e).text)); return;
    case ExprKind::typed: return typed(as<TypedExpr>(e), dst);
    case ExprKind::fstring: return fstring(as<FStringExpr>(e), dst);
    case ExprKind::name: return name(as<NameExpr>(e), dst);
    case ExprKind::list: return sequence(Opcode::list, as<ListExpr>(e).items, dst, e.span);
    case ExprKind::tuple: return sequence(Opcode::tuple, as<TupleExpr>(e).items, dst, e.span);
    case ExprKind::record: return record(as<RecordExpr>(e), dst);
    case ExprKind::map: return map(as<MapExpr>(e), dst);
    case ExprKind::range: return range(as<RangeExpr>(e), dst);
    case ExprKind::unary: return unary(as<UnaryExpr>(e), dst);
    case ExprKind::binary: return binary(as<BinaryExpr>(e), dst);
    case ExprKind::chain: return chain(as<ChainExpr>(e), dst);
    case ExprKind::logical: return truth_value(e, dst);
    case ExprKind::call: return call(as<CallExpr>(e), dst);
    case ExprKind::index: return index(as<IndexExpr>(e), dst);
    case ExprKind::field: return field(as<FieldExpr>(e), dst);
    case ExprKind::lambda: return nested_function(*as<LambdaExpr>(e).function, dst);
    case ExprKind::if_: return conditional(as<IfExpr>(e), dst, true);
    case ExprKind::try_: return attempt(as<TryExpr>(e), dst);
    case ExprKind::block: return block_value(*as<BlockExpr>(e).block, dst, e.span);
  }
}

// ---- Operands ------------------------------------------------------------------------------------------

bool FunctionCompiler::plain_register(const Expr& e, Reg& reg) {
  if (e.kind != ExprKind::name || !as<NameExpr>(e).variable) return false;
  const VariableSlot slot = slot_of(*as<NameExpr>(e).variable);
  reg = slot.index;
  return slot.kind == RootKind::reg;
}

/// Returns a register that holds the value: the variable's own, or a temporary.
FunctionCompiler::Reg FunctionCompiler::operand(const Expr& e) {
  Reg reg = 0;
  if (plain_register(e, reg)) return reg;
  reg = allocate(e.span);
  into(e, reg);
  return reg;
}

/// As operand(), but the value survives the evaluation of `later`, which may assign to variables.
FunctionCompiler::Reg FunctionCompiler::early_operand(const Expr& e, std::initializer_list<const Expr*> later) {
  Reg reg = 0;
  const bool is_variable = plain_register(e, reg);
  const bool may_change =
      is_variable && std::any_of(later.begin(), later.end(), [](const Expr* l) { return contains_statements(*l); });
  if (!may_change) return is_variable ? reg : operand(e);
  reg = allocate(e.span);
  into(e, reg);
  return reg;
}

void FunctionCompiler::load(const Variable& v, Reg dst, Span span) {
  const VariableSlot slot = slot_of(v);
  switch (slot.kind) {
    case RootKind::reg:
      if (slot.index != dst) emit(Opcode::move, span, dst, slot.index);
      return;
    case RootKind::cell: emit(Opcode::get_cell, span, dst, slot.index); return;
    case RootKind::capture: emit(Opcode::get_capture, span, dst, slot.index); return;
    case RootKind::global: emit(Opcode::get_global, span, dst, slot.index); return;
  }
}

void FunctionCompiler::load_constant(Value value, Reg dst, Span span) {
  emit_wide(Opcode::constant, span, dst, constant(std::move(value)));
}

void FunctionCompiler::name(const NameExpr& e, Reg dst) {
  if (e.variable) return load(*e.variable, dst, e.span);
  const Value* native = module_.builtins.native(e.name);
  if (!native) {  // of the prelude, which is loaded on first use
    emit(Opcode::builtin, e.span, dst, name_index(e.name));
    return;
  }
  const auto [entry, is_new] = builtin_constants_.try_emplace(e.name, 0);
  if (is_new) entry->second = constant(*native);
  emit_wide(Opcode::constant, e.span, dst, entry->second);
}

void FunctionCompiler::typed(const TypedExpr& e, Reg dst) {
  if (*e.dtype == kImaginary) return load_constant(make_complex(module_.builtins, 0.0, e.real), dst, e.span);
  const auto dtype = dtype_named(*e.dtype);
  if (!dtype) fail_at(ErrorName::unknown_dtype, e.span, fmt::format("'{}' is not a dtype", *e.dtype));
  const uint32_t value = constant(e.is_integer ? Value(e.integer) : Value(e.real));
  emit(Opcode::typed, e.span, dst, value, static_cast<uint32_t>(*dtype));
}

// ---- Operators -----------------------------------------------------------------------------------------

void FunctionCompiler::unary(const UnaryExpr& e, Reg dst) {
  switch (e.op) {
    case UnaryOp::negate: return negation(*e.operand, dst, e.span);
    case UnaryOp::bit_not:
    case UnaryOp::plus: {
      Scope scope(*this);
      emit(e.op == UnaryOp::plus ? Opcode::plus : Opcode::invert, e.span, dst, operand(*e.operand));
      return;
    }
    case UnaryOp::logical_not: return truth_value(e, dst);
  }
}

void FunctionCompiler::negation(const Expr& operand, Reg dst, Span span) {
  const bool is_int = operand.kind == ExprKind::integer;
  if (is_int && as<IntExpr>(operand).value != std::numeric_limits<int64_t>::min())  // whose negation fits no int
    return load_constant(Value(-as<IntExpr>(operand).value), dst, span);
  if (operand.kind == ExprKind::real) return load_constant(Value(-as<RealExpr>(operand).value), dst, span);
  Scope scope(*this);
  emit(Opcode::negate, span, dst, this->operand(operand));
}

void FunctionCompiler::binary(const BinaryExpr& e, Reg dst) {
  Scope scope(*this);
  const Reg left = early_operand(*e.left, {e.right});
  operation(e.op, dst, left, *e.right, e.span);
  note_operator(e.op_span);
}

namespace {

/// Returns the instruction for `op` on two registers, or Opcode::binary if it has none of its own.
Opcode opcode_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return Opcode::add;
    case BinaryOp::sub: return Opcode::sub;
    case BinaryOp::mul: return Opcode::mul;
    case BinaryOp::div: return Opcode::div;
    case BinaryOp::floordiv: return Opcode::floordiv;
    case BinaryOp::mod: return Opcode::mod;
    case BinaryOp::pow:
    case BinaryOp::matmul:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::in:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_and:
    case BinaryOp::left_shift:
    case BinaryOp::right_shift: break;
  }
  return Opcode::binary;
}

Opcode shifted(Opcode op, Opcode from, Opcode to) {
  return static_cast<Opcode>(static_cast<int>(op) - static_cast<int>(from) + static_cast<int>(to));
}

}  // namespace

/// Emits dst = left op right.
void FunctionCompiler::operation(BinaryOp op, Reg dst, Reg left, const Expr& right, Span span) {
  const Opcode opcode = opcode_of(op);
  uint32_t k = 0;
  if (opcode == Opcode::binary) {
    emit(Opcode::binary, span, dst, left, operand(right), static_cast<uint8_t>(op));
  } else if (number_constant(right, k)) {
    emit(shifted(opcode, Opcode::add, Opcode::add_k), span, dst, left, k);
  } else {
    emit(opcode, span, dst, left, operand(right));
  }
}

/// Compiles a < b < c as `a < b and b < c`, which evaluates b once; of tensors it is `(a < b) & (b < c)`.
void FunctionCompiler::chain(const ChainExpr& e, Reg dst) {
  Scope scope(*this);
  const Reg result = allocate(e.span);
  const size_t count = e.links.size();
  Reg left = early_operand(*e.first, {e.links[0].right});
  JumpList settled;
  for (size_t i = 0; i < count; ++i) {
    const ChainLink& link = e.links[i];
    const Reg right = i + 1 < count ? early_operand(*link.right, {e.links[i + 1].right}) : operand(*link.right);
    const Reg answer = i == 0 ? result : allocate(e.span);
    emit(Opcode::binary, e.span, answer, left, right, static_cast<uint8_t>(link.op));
    note_operator(link.op_span);
    if (i > 0) emit(Opcode::binary, e.span, result, result, answer, static_cast<uint8_t>(BinaryOp::bit_and));
    left = right;
    if (i + 1 == count) break;
    emit(Opcode::test_settled, e.span, result);
    jump(settled, e.span);
  }
  patch_here(settled);
  emit(Opcode::move, e.span, dst, result);
}

/// Whether `e` is a number that can be a constant operand.
bool FunctionCompiler::number_constant(const Expr& e, uint32_t& index) {
  if (e.kind == ExprKind::integer) index = constant(Value(as<IntExpr>(e).value));
  else if (e.kind == ExprKind::real) index = constant(Value(as<RealExpr>(e).value));
  else return false;
  return index < 0xFFFF;
}

/// Compiles `and`, `or`, `not` to control flow that ends in true or false.
void FunctionCompiler::truth_value(const Expr& e, Reg dst) {
  JumpList is_false, done;
  condition(e, false, is_false);
  load_constant(Value(true), dst, e.span);
  jump(done, e.span);
  patch_here(is_false);
  load_constant(Value(false), dst, e.span);
  patch_here(done);
}

// ---- Composite values ----------------------------------------------------------------------------------

void FunctionCompiler::sequence(Opcode op, ast::List<Expr*> items, Reg dst, Span span) {
  Scope scope(*this);
  const uint32_t first = next_;
  for (const Expr* item : items) into(*item, allocate(item->span));
  emit(op, span, dst, first, static_cast<uint32_t>(items.size()));
}

void FunctionCompiler::record(const RecordExpr& e, Reg dst) {
  Ref<RecordKeys> keys = make_ref<RecordKeys>();
  for (const RecordEntry& entry : e.entries) {
    if (!entry.key || keys->find(entry.key) >= 0) return record_with_spread(e, dst);  // also for a key given twice
    keys->add(entry.key);
  }
  Scope scope(*this);
  const uint32_t first = next_;
  for (const RecordEntry& entry : e.entries) into(*entry.value, allocate(entry.value->span));
  proto_->record_shapes.push_back(std::move(keys));
  emit(Opcode::record, e.span, dst, first, static_cast<uint32_t>(proto_->record_shapes.size() - 1));
}

void FunctionCompiler::record_with_spread(const RecordExpr& e, Reg dst) {
  Scope scope(*this);
  const Reg building = allocate(e.span);
  proto_->record_shapes.push_back(make_ref<RecordKeys>());
  emit(Opcode::record, e.span, building, building, static_cast<uint32_t>(proto_->record_shapes.size() - 1));
  for (const RecordEntry& entry : e.entries) {
    Scope part(*this);
    const Reg value = operand(*entry.value);
    if (entry.key) emit(Opcode::put_field, entry.value->span, building, value, name_index(entry.key));
    else emit(Opcode::spread, entry.value->span, building, value);
  }
  emit(Opcode::move, e.span, dst, building);
}

void FunctionCompiler::map(const MapExpr& e, Reg dst) {
  Scope scope(*this);
  const Reg building = allocate(e.span);
  emit(Opcode::map, e.span, building);
  for (const MapEntry& entry : e.entries) {
    Scope part(*this);
    if (entry.key) {
      const Reg key = allocate(entry.key->span);
      into(*entry.key, key);
      emit(Opcode::put_entry, entry.key->span, building, key, operand(*entry.value));
    } else {
      emit(Opcode::spread, entry.value->span, building, operand(*entry.value));
    }
  }
  emit(Opcode::move, e.span, dst, building);
}

void FunctionCompiler::fstring(const FStringExpr& e, Reg dst) {
  Scope scope(*this);
  const uint32_t first = next_;
  Template parts;
  for (const FStringPart& part : e.parts) {
    if (!part.text->empty()) parts.push_back({part.text, "", false});
    if (!part.value) continue;
    const bool is_named = !part.text->empty() && part.spec->empty() && !part.computed_spec;
    parts.push_back({nullptr, is_named ? std::string(kNamedSpec) : *part.spec, part.computed_spec != nullptr});
    into(*part.value, allocate(part.value->span));
    if (part.computed_spec) into(*part.computed_spec, allocate(part.computed_spec->span));
  }
  proto_->templates.push_back(std::move(parts));
  emit(Opcode::format, e.span, dst, first, static_cast<uint32_t>(proto_->templates.size() - 1));
  const auto spans_before = static_cast<uint32_t>(proto_->argument_spans.size());
  for (const FStringPart& part : e.parts) {
    if (!part.value) continue;
    Span span = part.value->span;
    if (!part.spec->empty()) span.end += 1 + static_cast<uint32_t>(part.spec->size());  // `:` and the spec
    if (part.computed_spec) span.end = part.computed_spec->span.end;
    proto_->argument_spans.push_back(span);
    if (part.computed_spec) proto_->argument_spans.push_back(span);
  }
  const auto count = static_cast<uint32_t>(proto_->argument_spans.size()) - spans_before;
  proto_->call_arguments.push_back({here() - 1, spans_before, count});
}

void FunctionCompiler::range(const RangeExpr& e, Reg dst) {
  Scope scope(*this);
  const Reg begin = early_operand(*e.begin, {e.end});
  emit(Opcode::range, e.span, dst, begin, operand(*e.end), e.closed);
}

// ---- Elements and fields -------------------------------------------------------------------------------

IndexShape FunctionCompiler::index_shape(const IndexExpr& e) {
  IndexShape shape;
  for (const ast::IndexItem& item : e.items) {
    IndexShape::Item part;
    using Kind = ast::IndexItem::Kind;
    switch (item.kind) {
      case Kind::value: part.kind = IndexShape::Item::Kind::value; break;
      case Kind::slice: part.kind = IndexShape::Item::Kind::slice; break;
      case Kind::ellipsis: part.kind = IndexShape::Item::Kind::ellipsis; break;
    }
    part.has_start = item.start != nullptr;
    part.has_stop = item.stop != nullptr;
    part.has_step = item.step != nullptr;
    shape.operand_count = static_cast<uint16_t>(shape.operand_count + (item.kind == Kind::value) + part.has_start +
                                                part.has_stop + part.has_step);
    shape.items.push_back(part);
  }
  return shape;
}

/// Evaluates the parts of index_shape() into consecutive temporaries.
void FunctionCompiler::index_operands(const IndexExpr& e) {
  for (const ast::IndexItem& item : e.items) {
    for (const Expr* part : {item.value, item.start, item.stop, item.step}) {
      if (part) into(*part, allocate(part->span));
    }
  }
}

void FunctionCompiler::index(const IndexExpr& e, Reg dst) {
  Scope scope(*this);
  const bool is_simple = e.items.size() == 1 && e.items[0].kind == ast::IndexItem::Kind::value;
  if (is_simple) {
    const Expr& item = *e.items[0].value;
    const Reg object = early_operand(*e.object, {&item});
    uint32_t k = 0;
    if (number_constant(item, k)) emit(Opcode::get_index_k, e.span, dst, object, k);
    else emit(Opcode::get_index, e.span, dst, object, operand(item));
    return;
  }
  const Reg first = allocate(e.span);
  into(*e.object, first);
  index_operands(e);
  proto_->index_shapes.push_back(index_shape(e));
  emit(Opcode::get_items, e.span, dst, first, static_cast<uint32_t>(proto_->index_shapes.size() - 1));
}

void FunctionCompiler::field(const FieldExpr& e, Reg dst) {
  Scope scope(*this);
  emit(Opcode::get_field, e.span, dst, operand(*e.object), name_index(e.field));
}

// ---- Calls ---------------------------------------------------------------------------------------------

/// Returns the index of the shape of a call with named arguments. A method's shape is followed by one without its
/// object, in case the object is a record or a module.
uint16_t FunctionCompiler::call_shape(const CallExpr& e, bool is_method) {
  CallShape shape;
  for (const Argument& argument : e.args) {
    if (argument.name) shape.names.push_back(argument.name);
    else if (shape.names.empty()) ++shape.positional;
    else fail_at(ErrorName::positional_after_named, argument.span, "a positional argument cannot follow a named one");
  }
  const CallShape without_object = shape;
  if (is_method) {
    ++shape.positional;
    proto_->call_shapes.push_back(shape);
  }
  proto_->call_shapes.push_back(without_object);
  return narrow(proto_->call_shapes.size() - 1 - is_method, e.span, "calls");
}

/// Compiles f(a, ...xs, k: v): the arguments without names are the items of a list, those that `...` names a record.
void FunctionCompiler::spread_call(const CallExpr& e, Reg dst) {
  Scope scope(*this);
  const bool is_method = e.callee->kind == ExprKind::field;
  const Reg callee = allocate(e.span);
  if (is_method) load_constant(Value(), callee, e.span);
  else into(*e.callee, callee);
  const Reg items = allocate(e.span);
  emit(Opcode::list, e.span, items, items, 0);
  const Reg fields = allocate(e.span);
  proto_->record_shapes.push_back(make_ref<RecordKeys>());
  emit(Opcode::record, e.span, fields, fields, static_cast<uint32_t>(proto_->record_shapes.size() - 1));
  const auto append = [&](Opcode op, const Expr& item) {
    Scope each(*this);
    emit(op, item.span, items, operand(item), op == Opcode::append_all ? fields : 0);
  };
  if (is_method) append(Opcode::append, *as<FieldExpr>(*e.callee).object);
  CallShape shape;
  for (const Argument& argument : e.args) {
    if (argument.name) {
      shape.names.push_back(argument.name);
      into(*argument.value, allocate(argument.span));
    } else if (!shape.names.empty()) {
      fail_at(ErrorName::positional_after_named, argument.span, "a positional argument cannot follow a named one");
    } else {
      append(argument.is_spread ? Opcode::append_all : Opcode::append, *argument.value);
    }
  }
  proto_->call_shapes.push_back(std::move(shape));
  const uint32_t method = is_method ? name_index(as<FieldExpr>(*e.callee).field) : 0;
  emit(Opcode::call_spread, e.span, callee, narrow(proto_->call_shapes.size() - 1, e.span, "calls"), method, is_method);
  emit(Opcode::move, e.span, dst, callee);
}

void FunctionCompiler::call(const CallExpr& e, Reg dst) {
  if (assertion(e, dst)) return;
  for (const Argument& argument : e.args) {
    if (argument.is_spread) return spread_call(e, dst);
  }
  Scope scope(*this);
  // The result replaces the callee, so a new destination at the top of the stack can hold the callee itself.
  const bool in_place = dst + 1u == next_ && is_fresh(dst);
  const Reg callee = in_place ? dst : allocate(e.span);
  const bool is_method = e.callee->kind == ExprKind::field;
  if (is_method) into(*as<FieldExpr>(*e.callee).object, allocate(e.callee->span));
  else into(*e.callee, callee);
  bool has_names = false;
  for (const Argument& argument : e.args) {
    has_names |= argument.name != nullptr;
    into(*argument.value, allocate(argument.span));
  }
  const uint32_t count = static_cast<uint32_t>(e.args.size()) + is_method;
  const uint32_t b = has_names ? call_shape(e, is_method) : count;
  if (is_method) {
    emit(has_names ? Opcode::method_named : Opcode::method, e.span, callee, b,
         name_index(as<FieldExpr>(*e.callee).field));
  } else {
    emit(has_names ? Opcode::call_named : Opcode::call, e.span, callee, b);
  }
  note_arguments(e, is_method);
  if (!in_place) emit(Opcode::move, e.span, dst, callee);
}

/// Records where the arguments of the call that was emitted last are in the source.
void FunctionCompiler::note_arguments(const CallExpr& e, bool is_method) {
  const uint32_t first = static_cast<uint32_t>(proto_->argument_spans.size());
  if (is_method) proto_->argument_spans.push_back(as<FieldExpr>(*e.callee).object->span);
  for (const Argument& argument : e.args) proto_->argument_spans.push_back(argument.value->span);
  const uint32_t count = static_cast<uint32_t>(proto_->argument_spans.size()) - first;
  for (const Argument& argument : e.args) {
    if (argument.name) proto_->argument_spans.push_back(argument.name_span());
  }
  const uint32_t names = static_cast<uint32_t>(proto_->argument_spans.size()) - first - count;
  proto_->call_arguments.push_back({here() - 1, first, count, names});
}

/// Records where the operator of the operation that was emitted last is in the source.
void FunctionCompiler::note_operator(Span span) {
  proto_->call_arguments.push_back({here() - 1, static_cast<uint32_t>(proto_->argument_spans.size()), 1});
  proto_->argument_spans.push_back(span);
}

// ---- Conditions ----------------------------------------------------------------------------------------

void FunctionCompiler::conditional(const IfExpr& e, Reg dst, bool wants_value) {
  JumpList otherwise, done;
  condition(*e.condition, false, otherwise);
  if (wants_value) block_value(*e.then, dst, e.span);
  else block(*e.then);
  if (e.otherwise || wants_value) jump(done, e.span);
  patch_here(otherwise);
  if (!e.otherwise) {
    if (wants_value) load_constant(Value(), dst, e.span);
  } else if (wants_value) {
    into(*e.otherwise, dst);
  } else if (e.otherwise->kind == ExprKind::if_) {
    conditional(as<IfExpr>(*e.otherwise), dst, false);
  } else {
    block(*as<BlockExpr>(*e.otherwise).block);
  }
  patch_here(done);
}

/// Jumps to `targets` if the truth of `e` is `jump_if`, otherwise continues.
void FunctionCompiler::condition(const Expr& e, bool jump_if, JumpList& targets) {
  if (e.kind == ExprKind::boolean) {
    if (as<BoolExpr>(e).value == jump_if) jump(targets, e.span);
    return;
  }
  if (e.kind == ExprKind::unary && as<UnaryExpr>(e).op == UnaryOp::logical_not) {
    return condition(*as<UnaryExpr>(e).operand, !jump_if, targets);
  }
  if (e.kind == ExprKind::logical) {
    const auto& logical = as<LogicalExpr>(e);
    const bool settles = logical.op == LogicalOp::or_;  // the value of the left side that decides the result
    if (settles == jump_if) {
      condition(*logical.left, jump_if, targets);
      return condition(*logical.right, jump_if, targets);
    }
    JumpList settled;
    condition(*logical.left, !jump_if, settled);
    condition(*logical.right, jump_if, targets);
    return patch_here(settled);
  }
  if (e.kind == ExprKind::binary && comparison(as<BinaryExpr>(e), jump_if, targets)) return;
  Scope scope(*this);
  emit(Opcode::test, e.span, operand(e), 0, 0, jump_if);
  jump(targets, e.span);
}

bool FunctionCompiler::comparison(const BinaryExpr& e, bool jump_if, JumpList& targets) {
  if (e.op < BinaryOp::eq || e.op > BinaryOp::ge) return false;
  Scope scope(*this);
  const Reg left = early_operand(*e.left, {e.right});
  const int which = static_cast<int>(e.op) - static_cast<int>(BinaryOp::eq);
  uint32_t right = 0;
  const bool is_constant = number_constant(*e.right, right);
  if (!is_constant) right = operand(*e.right);
  const Opcode first = is_constant ? Opcode::test_eq_k : Opcode::test_eq;
  emit(static_cast<Opcode>(static_cast<int>(first) + which), e.span, left, right, 0, jump_if);
  note_operator(e.op_span);
  jump(targets, e.span);
  return true;
}

/// Evaluates a block: its value is that of its last statement if it is an expression, else nil.
void FunctionCompiler::block_value(const Block& block, Reg dst, Span span) {
  Scope scope(*this);
  prepare_block(block);
  const bool is_entry = module_.options.show && function_.is_module && &block == function_.body;
  const size_t count = block.statements.size();
  for (size_t i = 0; i < count; ++i) {
    const Stmt& s = *block.statements[i];
    if (i + 1 == count && s.kind == StmtKind::expr) return into(*as<ExprStmt>(s).value, dst);
    if (is_entry && ends_line(s)) show(*as<ExprStmt>(s).value);
    else statement(s);
  }
  load_constant(Value(), dst, span);
}

}  // namespace tsl
