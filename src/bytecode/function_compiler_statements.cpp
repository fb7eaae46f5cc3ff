// Compiles statements.
#include "base/error_names.h"
#include "base/run_watch.h"
#include "bytecode/function_compiler.h"
#include "bytecode/queries.h"

namespace tsl {

using namespace ast;

// ---- Blocks --------------------------------------------------------------------------------------------

void FunctionCompiler::block(const Block& block) {
  Scope scope(*this);
  prepare_block(block);
  for (const Stmt* s : block.statements) {
    poll_stop();
    statement(*s);
  }
}

/// Compiles a module's body: its value is that of its last statement, if it is an expression.
void FunctionCompiler::module_body() {
  for (const Variable* v : function_.variables) {
    if (v->is_exported && is_global(*v)) global_index(*v);
  }
  const Reg result = allocate(function_.span);
  block_value(*function_.body, result, function_.span);
  emit(Opcode::return_, function_.span, result);
}

/// Makes new cells for a block's captured variables, then its functions, which may call each other and be called before
/// their declarations.
void FunctionCompiler::prepare_block(const Block& block) {
  for (const Stmt* s : block.statements) {
    if (s->kind == StmtKind::declare) prepare_cells(*as<DeclareStmt>(*s).pattern);
    if (s->kind == StmtKind::function) prepare_cell(as<FunctionStmt>(*s).variable);
    if (s->kind == StmtKind::import) {
      prepare_cell(as<ImportStmt>(*s).variable);
      for (const ImportedName& item : as<ImportStmt>(*s).names) prepare_cell(item.variable);
    }
  }
  for (const Stmt* s : block.statements) {
    if (s->kind != StmtKind::function) continue;
    const auto& declared = as<FunctionStmt>(*s);
    const Variable& v = *declared.variable;
    if (!is_global(v) && !v.is_captured) {
      nested_function(*declared.function, declare_register(v, s->span));
      continue;
    }
    Scope scope(*this);
    const Reg made = allocate(s->span);
    nested_function(*declared.function, made);
    store(v, made, s->span);
  }
}

void FunctionCompiler::prepare_cells(const Pattern& pattern) {
  if (pattern.variable) prepare_cell(pattern.variable);
  for (const Pattern* item : pattern.items) prepare_cells(*item);
}

void FunctionCompiler::prepare_cell(const Variable* v) {
  if (!v || !v->is_captured || is_global(*v)) return;
  const Reg reg = declare_register(*v, v->span);
  variable_slots_[v->index].kind = RootKind::cell;
  emit(Opcode::new_cell, v->span, reg, v->is_mutable);
}

void FunctionCompiler::statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::expr: return expression_statement(*as<ExprStmt>(s).value);
    case StmtKind::declare: return declare(as<DeclareStmt>(s));
    case StmtKind::assign: return assign(as<AssignStmt>(s));
    case StmtKind::function: return;  // made at the start of its block
    case StmtKind::return_: return return_value(as<ReturnStmt>(s).value, s.span);
    case StmtKind::while_: return while_loop(as<WhileStmt>(s));
    case StmtKind::for_: return for_loop(as<ForStmt>(s));
    case StmtKind::break_: return leave(Exit::break_, s.span);
    case StmtKind::continue_: return leave(Exit::continue_, s.span);
    case StmtKind::import: return import(as<ImportStmt>(s));
  }
}

/// Whether a statement is an expression that a new line follows, and no `;`.
bool FunctionCompiler::ends_line(const Stmt& s) const {
  const std::string_view text = module_.options.text, rest = text.substr(std::min<size_t>(s.span.end, text.size()));
  const size_t next = rest.find_first_not_of(" \t\r");
  return s.kind == StmtKind::expr && next != std::string_view::npos && (rest[next] == '\n' || rest[next] == '#');
}

/// Compiles a call of what shows values.
void FunctionCompiler::show(const Expr& e) {
  Scope scope(*this);
  const Reg callee = allocate(e.span);
  load_constant(*module_.options.show, callee, e.span);
  into(e, allocate(e.span));
  emit(Opcode::call, e.span, callee, 1);
  emit(Opcode::drop, e.span, callee);
}

void FunctionCompiler::expression_statement(const Expr& e) {
  Scope scope(*this);
  if (e.kind == ExprKind::if_) return conditional(as<IfExpr>(e), 0, false);
  if (e.kind == ExprKind::try_) return attempt(as<TryExpr>(e), std::nullopt);
  Reg reg = 0;
  if (plain_register(e, reg)) return;
  reg = allocate(e.span);
  into(e, reg);
  emit(Opcode::drop, e.span, reg);
}

void FunctionCompiler::return_value(const Expr* value, Span span) {
  if (value && value->kind == ExprKind::if_) return return_branches(as<IfExpr>(*value));
  if (value && value->kind == ExprKind::block) return return_block(*as<BlockExpr>(*value).block);
  Scope scope(*this);
  Reg reg = 0;
  if (!attempts_.empty()) {  // by way of `finally`, which may change variables
    reg = attempts_.back().returned;
    if (value) into(*value, reg);
    else load_constant(Value(), reg, span);
  } else if (value) {
    reg = operand(*value);
  } else {
    reg = allocate(span);
    load_constant(Value(), reg, span);
  }
  if (function_.returns) emit(Opcode::check_result, value ? value->span : span, reg);
  leave(Exit::return_, span, reg);
}

/// Compiles `return if …`: each branch returns separately.
void FunctionCompiler::return_branches(const IfExpr& e) {
  JumpList otherwise;
  condition(*e.condition, false, otherwise);
  return_block(*e.then);
  patch_here(otherwise);
  return_value(e.otherwise, e.span);
}

void FunctionCompiler::return_block(const Block& block) {
  Scope scope(*this);
  prepare_block(block);
  for (const Stmt* s : block.statements) {
    if (s == block.statements.back() && s->kind == StmtKind::expr) return return_value(as<ExprStmt>(*s).value, s->span);
    statement(*s);
  }
  return_value(nullptr, block.span);
}

// ---- Declarations --------------------------------------------------------------------------------------

void FunctionCompiler::declare(const DeclareStmt& s) {
  const Pattern& pattern = *s.pattern;
  const bool is_register = pattern.variable && !pattern.variable->is_captured && !is_global(*pattern.variable);
  if (is_register) {
    const Reg reg = allocate(s.span);
    into(*s.value, reg);
    bind_register(*pattern.variable, reg, pattern.span);
    return;
  }
  allocate_pattern(pattern);
  Scope scope(*this);
  const Reg value = allocate(s.span);
  into(*s.value, value);
  bind_pattern(pattern, value);
}

/// Allocates registers for the plain variables of a pattern, below the temporaries that unpack it.
void FunctionCompiler::allocate_pattern(const Pattern& pattern) {
  const Variable* v = pattern.variable;
  if (v && !v->is_captured && !is_global(*v)) declare_register(*v, pattern.span);
  for (const Pattern* item : pattern.items) allocate_pattern(*item);
}

/// Binds the pattern of a loop or a parameter, which is no statement of a block.
void FunctionCompiler::take_apart(const Pattern& pattern, Reg value) {
  prepare_cells(pattern);
  allocate_pattern(pattern);
  bind_pattern(pattern, value);
}

/// Emits the instruction that puts the items of `value` into registers from `first`, one of them the rest.
void FunctionCompiler::unpack(uint32_t first, Reg value, size_t count, std::optional<size_t> rest, Span span) {
  constexpr size_t kMostBeforeRest = 31;  // fits the instruction
  if (rest && *rest > kMostBeforeRest) fail_at(ErrorName::function_too_large, span, "too many names before '...'");
  emit(rest ? Opcode::unpack_rest : Opcode::unpack, span, first, value, static_cast<uint32_t>(count),
       static_cast<uint8_t>(rest.value_or(0)));
}

void FunctionCompiler::bind_pattern(const Pattern& pattern, Reg value) {
  if (pattern.kind == Pattern::Kind::name) {
    if (pattern.variable) store(*pattern.variable, value, pattern.span);
    return;
  }
  if (pattern.kind == Pattern::Kind::fields) return bind_fields(pattern, value);
  Scope scope(*this);
  const uint32_t first = next_;
  for (const Pattern* item : pattern.items) allocate(item->span);
  unpack(first, value, pattern.items.size(), pattern.rest, pattern.span);
  for (size_t i = 0; i < pattern.items.size(); ++i) bind_pattern(*pattern.items[i], static_cast<Reg>(first + i));
}

void FunctionCompiler::bind_fields(const Pattern& pattern, Reg value) {
  Ref<RecordKeys> taken = make_ref<RecordKeys>();
  for (size_t i = 0; i < pattern.items.size(); ++i) {
    if (pattern.rest == i) continue;
    if (taken->find(pattern.keys[i]) < 0) taken->add(pattern.keys[i]);
    Scope scope(*this);
    const Reg field = allocate(pattern.items[i]->span);
    emit(Opcode::get_field, pattern.items[i]->span, field, value, name_index(pattern.keys[i]));
    bind_pattern(*pattern.items[i], field);
  }
  if (!pattern.rest) return;
  Scope scope(*this);
  const Reg others = allocate(pattern.span);
  proto_->record_shapes.push_back(std::move(taken));
  emit(Opcode::without, pattern.span, others, value, static_cast<uint32_t>(proto_->record_shapes.size() - 1));
  bind_pattern(*pattern.items[*pattern.rest], others);
}

void FunctionCompiler::store(const Variable& v, Reg value, Span span) {
  const VariableSlot slot = slot_of(v);
  switch (slot.kind) {
    case RootKind::reg: emit(Opcode::move, span, slot.index, value); return;
    case RootKind::cell: emit(Opcode::set_cell, span, slot.index, value); return;
    case RootKind::capture: emit(Opcode::set_capture, span, slot.index, value); return;
    case RootKind::global: emit(Opcode::set_global, span, slot.index, value); return;
  }
}

// ---- Assignments ---------------------------------------------------------------------------------------

void FunctionCompiler::assign(const AssignStmt& s) {
  Scope scope(*this);
  if (s.target->kind == ExprKind::name) return assign_variable(s, as<NameExpr>(*s.target));
  if (s.target->kind != ExprKind::tuple) return assign_part(s);
  const Reg value = allocate(s.span);
  into(*s.value, value);
  assign_from(*s.target, value);
}

void FunctionCompiler::assign_variable(const AssignStmt& s, const NameExpr& target) {
  if (!target.variable) {  // `_ = f()`
    into(*s.value, allocate(s.span));
    return;
  }
  const VariableSlot slot = slot_of(*target.variable);
  if (slot.kind == RootKind::reg) {
    if (!s.has_op) return into(*s.value, slot.index);
    const bool may_change = contains_statements(*s.value);
    const Reg old = may_change ? allocate(s.span) : slot.index;
    if (may_change) into(target, old);
    return operation(s.op, slot.index, old, *s.value, s.span);
  }
  const Reg value = allocate(s.span);
  into(*s.value, value);
  if (!s.has_op) return store(*target.variable, value, s.span);
  Path path;
  path.has_op = true;
  path.op = s.op;
  update_target(slot, path, value, s.span);
}

/// Compiles target[i].f = value and target[i].f op= value.
void FunctionCompiler::assign_part(const AssignStmt& s) {
  std::vector<const Expr*> steps;
  const VariableSlot root = slot_of(target_root(*s.target, steps));
  const Expr& only = *steps[0];
  const bool is_simple = steps.size() == 1 && !s.has_op && root.kind == RootKind::reg && only.kind == ExprKind::index &&
                         as<IndexExpr>(only).items.size() == 1 &&
                         as<IndexExpr>(only).items[0].kind == ast::IndexItem::Kind::value;
  if (is_simple) {
    const Reg index = early_operand(*as<IndexExpr>(only).items[0].value, {s.value});
    emit(Opcode::set_index, s.span, root.index, index, operand(*s.value));
    return;
  }
  const uint32_t first = next_;
  Path path = target_path(steps);
  path.has_op = s.has_op;
  path.op = s.op;
  into(*s.value, allocate(s.value->span));
  update_target(root, path, static_cast<Reg>(first), s.span);
}

/// Assigns a temporary to a target within a tuple.
void FunctionCompiler::assign_from(const Expr& target, Reg value) {
  Scope scope(*this);
  if (target.kind == ExprKind::name) {
    if (const Variable* v = as<NameExpr>(target).variable) store(*v, value, target.span);
    return;
  }
  const uint32_t first = next_;
  if (target.kind == ExprKind::tuple) {
    const auto& items = as<TupleExpr>(target).items;
    for (const Expr* item : items) allocate(item->span);
    unpack(first, value, items.size(), as<TupleExpr>(target).rest, target.span);
    for (size_t i = 0; i < items.size(); ++i) assign_from(*items[i], static_cast<Reg>(first + i));
    return;
  }
  std::vector<const Expr*> steps;
  const VariableSlot root = slot_of(target_root(target, steps));
  const Path path = target_path(steps);
  emit(Opcode::move, target.span, allocate(target.span), value);
  update_target(root, path, static_cast<Reg>(first), target.span);
}

void FunctionCompiler::update_target(VariableSlot root, const Path& path, Reg first, Span span) {
  proto_->paths.push_back(path);
  emit(Opcode::set_path, span, root.index, first, static_cast<uint32_t>(proto_->paths.size() - 1),
       static_cast<uint8_t>(root.kind));
}

/// Returns the variable at the base of a target; `steps` receives the index and field expressions from it outwards.
const Variable& FunctionCompiler::target_root(const Expr& target, std::vector<const Expr*>& steps) const {
  const Expr* e = &target;
  while (e->kind == ExprKind::index || e->kind == ExprKind::field) {
    steps.insert(steps.begin(), e);
    e = e->kind == ExprKind::index ? as<IndexExpr>(*e).object : as<FieldExpr>(*e).object;
  }
  if (e->kind != ExprKind::name || !as<NameExpr>(*e).variable) {
    fail_at(ErrorName::wrong_assignment_target, target.span, "only a variable, or a part of one, can be assigned to");
  }
  return *as<NameExpr>(*e).variable;
}

/// Evaluates the indices of a path into consecutive temporaries.
Path FunctionCompiler::target_path(const std::vector<const Expr*>& steps) {
  Path path;
  for (const Expr* e : steps) {
    Path::Step step;
    if (e->kind == ExprKind::field) {
      step.field = as<FieldExpr>(*e).field;
    } else {
      step.index = index_shape(as<IndexExpr>(*e));
      index_operands(as<IndexExpr>(*e));
    }
    path.operand_count = static_cast<uint16_t>(path.operand_count + step.index.operand_count);
    path.steps.push_back(std::move(step));
  }
  return path;
}

// ---- Loops ---------------------------------------------------------------------------------------------

/// Emits the start of a loop's body. The caller completes its description.
uint32_t FunctionCompiler::begin_loop(Span span) {
  const uint32_t loop = static_cast<uint32_t>(proto_->loops.size());
  proto_->loops.emplace_back();
  proto_->loops[loop].span = span;
  emit_wide(Opcode::loop_body, span, 0, loop);
  proto_->loops[loop].begin = here();
  return loop;
}

/// Compiles `while` with the condition at the end, so that an iteration needs one jump.
void FunctionCompiler::while_loop(const WhileStmt& s) {
  JumpList to_condition, to_body;
  jump(to_condition, s.span);
  const uint32_t top = here();
  const uint32_t loop = begin_loop(s.span);
  loops_.emplace_back();
  block(*s.body);
  proto_->loops[loop].end = here();
  patch_here(to_condition);
  patch_here(loops_.back().continues);
  condition(*s.condition, true, to_body);
  patch(to_body, top);
  patch_here(loops_.back().breaks);
  loops_.pop_back();
}

namespace {

/// Returns the argument of a call progress(xs) of the builtin; null for any other expression.
const Expr* argument_of_progress(const Expr& iterable) {
  if (iterable.kind != ExprKind::call) return nullptr;
  const CallExpr& call = as<CallExpr>(iterable);
  if (call.callee->kind != ExprKind::name || call.args.size() != 1 || call.args[0].name || call.args[0].is_spread)
    return nullptr;
  const NameExpr& callee = as<NameExpr>(*call.callee);
  return !callee.variable && *callee.name == "progress" ? call.args[0].value : nullptr;
}

}  // namespace

void FunctionCompiler::for_loop(const ForStmt& s) {
  Scope scope(*this);
  if (s.iterable->kind == ExprKind::range) return for_range(s, as<RangeExpr>(*s.iterable));
  const Expr* shown = argument_of_progress(*s.iterable);
  const Span head = s.iterable->span;
  const Reg state = allocate(head);
  allocate(head);
  into(shown ? *shown : *s.iterable, state);
  if (!shown) {
    emit(Opcode::start_each, head, state);
    return loop_body(s, loop_item(*s.pattern), Opcode::next_each, state);
  }
  const Reg bar = allocate(head);
  emit(Opcode::start_progress, head, bar, state);
  emit(Opcode::start_each, head, state);
  loop_body(s, loop_item(*s.pattern), Opcode::next_each, state, bar);
  emit(Opcode::drop, head, bar);
}

/// Compiles a loop over a range without making the range.
void FunctionCompiler::for_range(const ForStmt& s, const RangeExpr& range) {
  const Reg state = allocate(range.span);
  into(*range.begin, state);
  into(*range.end, allocate(range.span));
  emit(Opcode::start_range, range.span, state, 0, 0, range.closed);
  loop_body(s, loop_item(*s.pattern), Opcode::next_range, state);
}

/// Returns the register for each item: the loop variable's own, if the pattern is only that.
FunctionCompiler::Reg FunctionCompiler::loop_item(const Pattern& pattern) {
  if (pattern.variable) return declare_register(*pattern.variable, pattern.span);
  return allocate(pattern.span);
}

void FunctionCompiler::loop_body(const ForStmt& s, Reg item, Opcode next, Reg state, std::optional<Reg> bar) {
  JumpList to_next;
  const Span head = s.iterable->span;
  jump(to_next, head);
  const uint32_t top = here();
  if (s.pattern->variable && s.pattern->variable->is_captured) {
    variable_slots_[s.pattern->variable->index].kind = RootKind::cell;
    emit(Opcode::box, s.pattern->span, item);
  }
  if (s.pattern->kind != Pattern::Kind::name) { take_apart(*s.pattern, item); }
  const uint32_t loop = begin_loop(s.span);
  loops_.emplace_back();
  block(*s.body);
  proto_->loops[loop].end = here();
  patch_here(to_next);
  patch_here(loops_.back().continues);
  if (bar) emit(Opcode::count_progress, head, *bar);
  emit(next, head, state, item);
  jump_to(top, head);
  patch_here(loops_.back().breaks);
  loops_.pop_back();
}

// ---- Imports -------------------------------------------------------------------------------------------

void FunctionCompiler::import(const ImportStmt& s) {
  const bool is_register = s.variable && !s.variable->is_captured && !is_global(*s.variable);
  if (is_register) {
    emit(Opcode::import_, s.span, declare_register(*s.variable, s.span), name_index(s.path), 0, s.is_file);
    return;
  }
  for (const ImportedName& item : s.names) {
    const Variable& v = *item.variable;
    if (!v.is_captured && !is_global(v)) declare_register(v, item.span);
  }
  Scope scope(*this);
  const Reg module = allocate(s.span);
  emit(Opcode::import_, s.span, module, name_index(s.path), 0, s.is_file);
  if (s.variable) store(*s.variable, module, s.span);
  const Reg member = allocate(s.span);
  for (const ImportedName& item : s.names) {
    emit(Opcode::get_member, item.span, member, module, name_index(item.name));
    store(*item.variable, member, item.span);
  }
}

// ---- Attempts ------------------------------------------------------------------------------------------

void FunctionCompiler::attempt(const TryExpr& e, std::optional<Reg> dst) {
  if (e.last) guarded(e, dst);
  else caught(e, dst);
}

/// Compiles a block of a `try`.
void FunctionCompiler::part(const Block& block_, std::optional<Reg> dst) {
  if (dst) block_value(block_, *dst, block_.span);
  else block(block_);
}

/// Compiles a body and its `catch`.
void FunctionCompiler::caught(const TryExpr& e, std::optional<Reg> dst) {
  Scope scope(*this);
  Handler handler;
  handler.reg = allocate(e.span);  // below the block's registers, which are free when it is set
  handler.begin = here();
  part(*e.body, dst);
  handler.end = here();
  JumpList done;
  jump(done, e.span);
  handler.handler = here();
  bind_register(*e.error, handler.reg, e.error->span);
  if (e.error->is_captured) {
    variable_slots_[e.error->index].kind = RootKind::cell;
    emit(Opcode::box, e.error->span, handler.reg);
  }
  part(*e.handler, dst);
  patch_here(done);
  add_handler(handler);
}

/// Compiles a `try` and its `finally`. There is one copy of the block, however the `try` is left: a register holds nil,
/// the failure or the Exit with which the code goes on after the block.
void FunctionCompiler::guarded(const TryExpr& e, std::optional<Reg> dst) {
  Scope scope(*this);
  Handler handler;
  handler.reg = allocate(e.span);
  handler.holds_failure = true;
  const std::optional<Reg> result = dst ? std::optional(allocate(e.span)) : std::nullopt;  // `last` may read dst
  const Reg returned = allocate(e.span);
  const uint32_t guard = emit(Opcode::guard, e.span, handler.reg, returned - handler.reg);
  handler.begin = here();
  attempts_.push_back({loops_.size(), handler.reg, returned, {}, {}});
  if (e.handler) caught(e, result);
  else part(*e.body, result);
  const Attempt attempt = std::move(attempts_.back());
  attempts_.pop_back();
  if (attempt.has(Exit::return_)) ++proto_->code[guard].b;
  handler.end = handler.handler = here();
  patch_here(attempt.jumps);
  block(*e.last);
  emit(Opcode::rethrow, e.span, handler.reg);
  for (const Exit exit : {Exit::break_, Exit::continue_, Exit::return_}) {
    if (attempt.has(exit)) continue_exit(attempt, exit, e.span);
  }
  if (dst) emit(Opcode::move, e.span, *dst, *result);
  add_handler(handler);
}

/// Emits what follows a `finally` block if its `try` was left by `exit`.
void FunctionCompiler::continue_exit(const Attempt& attempt, Exit exit, Span span) {
  JumpList other;
  emit(Opcode::test_left, span, attempt.state, static_cast<uint32_t>(exit), 0, false);
  jump(other, span);
  leave(exit, span, attempt.returned);
  patch_here(other);
}

void FunctionCompiler::add_handler(const Handler& handler) {
  if (handler.end > handler.begin) proto_->handlers.push_back(handler);
}

/// Emits a break, a continue, or a return of register `value`: by way of the innermost `finally` that it leaves, which
/// goes on from there.
void FunctionCompiler::leave(Exit exit, Span span, Reg value) {
  const bool is_guarded = !attempts_.empty() && (exit == Exit::return_ || attempts_.back().loops >= loops_.size());
  if (is_guarded) {
    Attempt& attempt = attempts_.back();
    if (exit == Exit::return_ && value != attempt.returned) emit(Opcode::move, span, attempt.returned, value);
    load_constant(Value(static_cast<int64_t>(exit)), attempt.state, span);
    jump(attempt.jumps, span);
    attempt.exits[static_cast<size_t>(exit)] = true;
    return;
  }
  switch (exit) {
    case Exit::break_: return jump(loops_.back().breaks, span);
    case Exit::continue_: return jump(loops_.back().continues, span);
    case Exit::return_: emit(Opcode::return_, span, value); return;
  }
}

}  // namespace tsl
