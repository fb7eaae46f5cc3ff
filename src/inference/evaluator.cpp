#include "inference/evaluator.h"

#include <algorithm>

#include "base/platform/stack_room.h"
#include "inference/text_function.h"
#include "tensor/dtype.h"
#include "vm/operators.h"

namespace tsl::inference {

using ast::as;

namespace {

constexpr int64_t kSteps = 200'000;  // expressions and statements of one analysis

}  // namespace

Evaluator::Evaluator(Sketch& sketch, analysis::Names& names)
    : sketch_(sketch), names_(names), symbols_(sketch.types().symbols()), steps_left_(kSteps) {
  sketch_.call_user = [this](const tsl::Function& function, std::span<Value> args) {
    Value result = call_text(static_cast<const TextFunction&>(function), args);
    if (holds_unknown(result)) not_known();  // the library's code must not look at it
    return result;
  };
}

Evaluator::~Evaluator() { sketch_.call_user = nullptr; }

bool Evaluator::takes_step() { return --steps_left_ > 0 && !platform::is_stack_short(); }

DeclaredTypes Evaluator::run(const ast::Module& module) {
  const DType reals = module.use ? dtype_named(*module.use).value_or(DType::f32) : DType::f32;
  sketch_.types().use_reals(reals);
  Activation& main = activation_of(*module.main, nullptr);
  main.notes = true;
  run_body(main);
  for (size_t i = 0; i < declared_functions_.size(); ++i)  // which grows
    run_for_any_call(static_cast<const TextFunction&>(*Sketch::user_function(declared_functions_[i])));
  return std::move(types_);
}

Evaluator::Activation& Evaluator::activation_of(const ast::Function& function, Activation* enclosing) {
  Activation& activation = activations_.emplace_back();
  activation.function = &function;
  activation.enclosing = enclosing;
  activation.values.resize(function.variables.size(), unknown());
  activation.is_any = current_ && current_->is_any;
  return activation;
}

/// Runs the body of a function whose parameters are bound, or a module's.
void Evaluator::run_body(Activation& activation) {
  Activation* const caller = std::exchange(current_, &activation);
  Loop* const loop = std::exchange(loop_, nullptr);
  const bool left = std::exchange(leaves_, false);
  block(*activation.function->body);
  if (!leaves_ && !activation.function->is_module) {
    activation.returned = activation.has_returned ? join(symbols_, activation.returned, Value()) : Value();
  }
  leaves_ = left;
  loop_ = loop;
  current_ = caller;
}

// ---- Variables -----------------------------------------------------------------------------------------

/// Returns where a variable's value is; null if no activation around the current one has it.
Value* Evaluator::slot_of(const ast::Variable& variable, Activation*& owner) {
  for (owner = current_; owner; owner = owner->enclosing) {
    if (owner->function == variable.owner)
      return variable.index < owner->values.size() ? &owner->values[variable.index] : nullptr;
  }
  return nullptr;
}

Value Evaluator::read(const ast::Variable& variable) {
  Activation* owner = nullptr;
  const Value* slot = slot_of(variable, owner);
  if (!slot || variable.is_assigned_by_capture) return unknown();
  const bool may_change = variable.is_mutable && owner != current_ && current_->is_any;
  return may_change ? unknown() : *slot;
}

void Evaluator::overwrite(Value* slot, Value value) {
  if (ways_ > 0) trail_.emplace_back(slot, *slot);
  *slot = std::move(value);
}

void Evaluator::write(const ast::Variable& variable, const Value& value) {
  Activation* owner = nullptr;
  Value* const slot = slot_of(variable, owner);
  if (slot && owner == current_) overwrite(slot, value);
}

/// Notes the type of a value that a variable has at some time.
void Evaluator::note(const ast::Variable& variable, const Value& value) {
  if (!current_->notes || variable.owner != current_->function) return;
  const ShownType shown = variable.is_assigned_by_capture ? ShownType{} : shown_type(value, size_names_);
  const auto [at, is_new] = types_.try_emplace(&variable, shown);
  if (!is_new && !(at->second == shown)) at->second = {};
}

void Evaluator::bind(const ast::Pattern& pattern, const Value& value) {  // bounded recursion: as the parser's
  if (pattern.kind == ast::Pattern::Kind::name) {
    if (!pattern.variable) return;
    write(*pattern.variable, value);
    return note(*pattern.variable, value);
  }
  const bool has_all = is_items(value) && !pattern.rest && value.as<Sequence>().items.size() == pattern.items.size();
  for (size_t i = 0; i < pattern.items.size(); ++i) {
    Value part = unknown();
    if (pattern.kind == ast::Pattern::Kind::items && has_all) part = value.as<Sequence>().items[i];
    const bool is_key = pattern.kind == ast::Pattern::Kind::fields && i < pattern.keys.size() && value.is(Tag::record);
    if (const Value* found = is_key ? value.as<Record>().find(sketch_.name_of(pattern.keys[i])) : nullptr)
      part = *found;
    if (pattern.items[i]) bind(*pattern.items[i], part);
  }
}

void Evaluator::assign(const ast::Expr& target, const Value& value) {  // bounded recursion: as the parser's
  if (target.kind == ast::ExprKind::name) {
    const ast::Variable* variable = as<ast::NameExpr>(target).variable;
    if (!variable) return;
    write(*variable, value);
    return note(*variable, value);
  }
  if (target.kind == ast::ExprKind::tuple) {
    const ast::TupleExpr& tuple = as<ast::TupleExpr>(target);
    const bool has_all = is_items(value) && !tuple.rest && value.as<Sequence>().items.size() == tuple.items.size();
    for (size_t i = 0; i < tuple.items.size(); ++i)
      assign(*tuple.items[i], has_all ? value.as<Sequence>().items[i] : unknown());
    return;
  }
  const bool is_index = target.kind == ast::ExprKind::index;
  if (!is_index && target.kind != ast::ExprKind::field) return;
  const ast::Expr& of = is_index ? *as<ast::IndexExpr>(target).object : *as<ast::FieldExpr>(target).object;
  Value object = value_of(of);
  if (object.is(Tag::tensor)) return;  // elements change, and no type
  const Value changed = if_known([&] {
    Value copy = object;
    object = unknown();
    std::vector<tsl::IndexItem> items;
    if (!is_index) set_field(sketch_, copy, sketch_.name_of(as<ast::FieldExpr>(target).field), value);
    else if (index_items(copy, as<ast::IndexExpr>(target), items)) set_index(sketch_, copy, items, value);
    else return unknown();
    return copy;
  });
  assign(of, changed);
}

void Evaluator::assign_statement(const ast::AssignStmt& assignment) {
  Value value = value_of(*assignment.value);
  if (assignment.has_op) {
    const Value before = value_of(*assignment.target);
    const bool is_known = !is_unknown(before) && !is_unknown(value);
    value = is_known ? if_known([&] { return tsl::binary(sketch_, assignment.op, before, value); }) : unknown();
  }
  assign(*assignment.target, value);
}

// ---- Statements ----------------------------------------------------------------------------------------

/// Runs a block. Returns the value of its last statement, an expression.
Value Evaluator::block(const ast::Block& block) {  // bounded recursion: as the parser's
  Value last;
  for (const ast::Stmt* each : block.statements) {
    last = statement(*each);
    if (leaves_) return unknown();
  }
  return last;
}

Value Evaluator::statement(const ast::Stmt& statement) {
  takes_step();
  switch (statement.kind) {
    case ast::StmtKind::expr: return value_of(*as<ast::ExprStmt>(statement).value);
    case ast::StmtKind::declare:
      bind(*as<ast::DeclareStmt>(statement).pattern, value_of(*as<ast::DeclareStmt>(statement).value));
      break;
    case ast::StmtKind::assign: assign_statement(as<ast::AssignStmt>(statement)); break;
    case ast::StmtKind::function: {
      const ast::FunctionStmt& declared = as<ast::FunctionStmt>(statement);
      write(*declared.variable, function_value(*declared.function));
      break;
    }
    case ast::StmtKind::return_: {
      const ast::Expr* value = as<ast::ReturnStmt>(statement).value;
      const Value returned = value ? value_of(*value) : Value();
      current_->returned = current_->has_returned ? join(symbols_, current_->returned, returned) : returned;
      current_->has_returned = leaves_ = true;
      break;
    }
    case ast::StmtKind::while_: while_loop(as<ast::WhileStmt>(statement)); break;
    case ast::StmtKind::for_: for_loop(as<ast::ForStmt>(statement)); break;
    case ast::StmtKind::break_: leave_loop(true); break;
    case ast::StmtKind::continue_: leave_loop(false); break;
    case ast::StmtKind::import: import(as<ast::ImportStmt>(statement)); break;
  }
  return {};
}

void Evaluator::import(const ast::ImportStmt& import) {
  Value module = if_known([&] {
    Value ours = import.is_file ? Value::absent() : sketch_.import_library(*import.path);
    return ours.is(Tag::absent) ? import_file(import) : ours;
  });
  if (import.variable) write(*import.variable, module);
  for (const ast::ImportedName& item : import.names) {
    const Value* member = analysis::member_of(module, sketch_.name_of(item.name));
    write(*item.variable, member ? *member : unknown());
  }
}

/// Evaluates a module of the user's.
Value Evaluator::import_file(const ast::ImportStmt& import) {
  const std::shared_ptr<const ast::Module> tree =
      analysis::read_module(names_, *import.path, import.is_file, names_.span_in_text(import.span).source);
  if (const auto known = modules_.find(tree->source); known != modules_.end()) return known->second;
  if (!loading_.insert(tree->source).second || ways_ > 0) return unknown();
  kept_.push_back(tree);
  const DType reals = sketch_.types().used_reals();
  sketch_.types().use_reals(tree->use ? dtype_named(*tree->use).value_or(DType::f32) : DType::f32);
  Activation& activation = activation_of(*tree->main, nullptr);
  run_body(activation);
  sketch_.types().use_reals(reals);
  Ref<tsl::Module> module = make_ref<tsl::Module>();
  module->name = *import.path;
  for (const ast::Variable* variable : tree->main->variables) {
    if (!variable->is_exported) continue;
    Ref<Cell> cell = make_ref<Cell>();
    cell->value = variable->is_mutable ? unknown() : activation.values[variable->index];
    cell->is_set = true;
    module->exports.emplace_back(sketch_.name_of(variable->name), std::move(cell));
  }
  loading_.erase(tree->source);
  return modules_[tree->source] = Value(std::move(module));
}

}  // namespace tsl::inference
