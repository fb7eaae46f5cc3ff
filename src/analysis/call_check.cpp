#include "analysis/call_check.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "analysis/declared_values.h"
#include "base/error_names.h"
#include "syntax/tree_walk.h"
#include "value/signature.h"

namespace tsl::analysis {

using ast::as;
using ast::CallExpr;
using ast::Expr;
using ast::ExprKind;
using ast::FieldExpr;
using ast::ImportStmt;
using ast::NameExpr;
using ast::Stmt;
using ast::StmtKind;
using ast::Variable;

namespace {

class CallCheck {
 public:
  CallCheck(Names& names, const ast::Module& module) : names_(names), module_(module) {
    for (const Variable* variable : names.variables()) {
      if (!variable->is_mutable) session_.insert(variable);
    }
  }

  std::vector<Error> run();

 private:
  using Functions = std::unordered_map<const Variable*, const ast::Function*>;

  /// What a variable holds that is bound by an import.
  struct Imported {
    const ast::Module* module = nullptr;      // by `import m`
    const ast::Function* function = nullptr;  // by `from m import f`
  };

  void import(const ImportStmt& import);
  void note_module(const ast::Module& module);
  void member(const FieldExpr& field);
  void call(const CallExpr& call);
  void check_arguments(const CallExpr& call, const Signature& signature);
  const Signature* called(const Expr& callee);
  const Value* session_value(const Expr& e);
  const Signature* declared(const ast::Function* function);
  const ast::Module* imported_module(const Expr& object) const;
  const Variable* exported(const ast::Module& module, Name name) const;
  void refuse_member(const std::string& module, const std::vector<std::string>& members, Name name, Span span);
  void complain(const Error& error, Span span);

  Names& names_;
  const ast::Module& module_;
  std::vector<Error> errors_;
  std::vector<std::shared_ptr<const ast::Module>> modules_;  // that the program imports
  std::unordered_map<const Variable*, Imported> imports_;
  std::unordered_map<const ast::Module*, Name> paths_;
  Functions functions_;
  std::unordered_map<const ast::Function*, FunctionInfo> declared_;
  std::unordered_set<const Variable*> session_;  // declared before the program, which cannot assign them
};

/// Adds the functions that are declared in a function or within it.
void note_functions(const ast::Function& function,
                    std::unordered_map<const Variable*, const ast::Function*>& functions) {
  const auto note = [&](const Stmt& statement, bool) {
    if (statement.kind != StmtKind::function) return;
    functions[as<ast::FunctionStmt>(statement).variable] = as<ast::FunctionStmt>(statement).function;
  };
  walk_tree(function, {note, [](const Expr&, bool) {}});
}

std::vector<std::string> exports_of(const ast::Module& module) {
  std::vector<std::string> names;
  for (const Variable* variable : module.main->variables) {
    if (variable->is_exported) names.push_back(*variable->name);
  }
  return names;
}

std::vector<Error> CallCheck::run() {
  note_functions(*module_.main, functions_);
  const auto at_import = [this](const Stmt& statement, bool is_in_try) {
    if (statement.kind == StmtKind::import && !is_in_try) import(as<ImportStmt>(statement));
  };
  walk_tree(*module_.main, {at_import, [](const Expr&, bool) {}});
  const auto at_expression = [this](const Expr& e, bool is_in_try) {
    if (is_in_try) return;
    if (e.kind == ExprKind::call) call(as<CallExpr>(e));
    if (e.kind == ExprKind::field) member(as<FieldExpr>(e));
  };
  walk_tree(*module_.main, {[](const Stmt&, bool) {}, at_expression});
  return std::move(errors_);
}

void CallCheck::complain(const Error& error, Span span) {
  errors_.push_back(error);
  if (!errors_.back().span.valid()) errors_.back().span = span;
}

// ---- Modules -------------------------------------------------------------------------------------------

void CallCheck::import(const ImportStmt& import) {
  try {
    modules_.push_back(read_module(names_, *import.path, import.is_file, module_.source));
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    return complain(failure.error(), import.span);
  }
  const ast::Module& read = *modules_.back();
  paths_[&read] = import.path;
  note_module(read);
  if (import.variable) imports_[import.variable] = {&read, nullptr};
  for (const ast::ImportedName& item : import.names) {
    const Variable* variable = exported(read, item.name);
    if (!variable) {
      refuse_member(*import.path, exports_of(read), item.name, item.span);
      continue;
    }
    const auto function = functions_.find(variable);
    if (function != functions_.end()) imports_[item.variable] = {nullptr, function->second};
  }
}

/// Adds the functions that a module declares and, of the library, those of the parts that it exports again.
void CallCheck::note_module(const ast::Module& module) {
  note_functions(*module.main, functions_);
  for (const ImportStmt* import : library_imports(names_, module)) {
    modules_.push_back(read_module(names_, *import->path, import->is_file, module.source));
    const ast::Module& part = *modules_.back();
    note_module(part);
    for (const ast::ImportedName& item : import->names) {
      const auto function = functions_.find(exported(part, item.name));
      if (function == functions_.end()) continue;
      const ast::Function* declared = function->second;
      functions_[item.variable] = declared;
    }
  }
}

const Variable* CallCheck::exported(const ast::Module& module, Name name) const {
  for (const Variable* variable : module.main->variables) {
    if (variable->is_exported && variable->name == name) return variable;
  }
  return nullptr;
}

const ast::Module* CallCheck::imported_module(const Expr& object) const {
  if (object.kind != ExprKind::name) return nullptr;
  const auto found = imports_.find(as<NameExpr>(object).variable);
  return found == imports_.end() ? nullptr : found->second.module;
}

void CallCheck::refuse_member(const std::string& module, const std::vector<std::string>& members, Name name,
                              Span span) {
  std::vector<std::string> hints;
  std::string hint = suggest_member(module, *name, members, names_.builtins().names());
  if (!hint.empty()) hints.push_back(std::move(hint));
  complain(
      {ErrorName::unknown_member, fmt::format("module '{}' has no '{}'", module, *name), span, std::move(hints), {}},
      span);
}

void CallCheck::member(const FieldExpr& field) {
  const ast::Module* module = imported_module(*field.object);
  if (module && !exported(*module, field.field))
    refuse_member(*paths_[module], exports_of(*module), field.field, field.field_span);
  const Value* value = session_value(*field.object);
  if (!value || !value->is(Tag::module) || value->as<Module>().find(field.field)) return;
  std::vector<std::string> members;
  for (const auto& [name, cell] : value->as<Module>().exports) members.push_back(*name);
  refuse_member(value->as<Module>().name, members, field.field, field.field_span);
}

// ---- Calls ---------------------------------------------------------------------------------------------

const Signature* CallCheck::declared(const ast::Function* function) {
  auto known = declared_.find(function);
  if (known == declared_.end()) known = declared_.emplace(function, declared_info(*function, names_.builtins())).first;
  return &known->second.signature;
}

/// Returns the value of a variable of a session, or of a member of a module in one; null for other expressions.
const Value* CallCheck::session_value(const Expr& e) {
  if (e.kind == ExprKind::name) {
    const NameExpr& name = as<NameExpr>(e);
    return session_.count(name.variable) ? names_.value(name.name) : nullptr;
  }
  const Value* object = e.kind == ExprKind::field ? session_value(*as<FieldExpr>(e).object) : nullptr;
  return object && object->is(Tag::module) ? member_of(*object, as<FieldExpr>(e).field) : nullptr;
}

/// Returns the signature of what is called, if it is known before the program runs; else null.
const Signature* CallCheck::called(const Expr& callee) {
  if (const Value* value = session_value(callee)) return signature_of(names_, *value);
  if (callee.kind == ExprKind::field) {
    const ast::Module* module = imported_module(*as<FieldExpr>(callee).object);
    const Variable* variable = module ? exported(*module, as<FieldExpr>(callee).field) : nullptr;
    const auto function = functions_.find(variable);
    return function == functions_.end() ? nullptr : declared(function->second);
  }
  if (callee.kind != ExprKind::name) return nullptr;
  const NameExpr& name = as<NameExpr>(callee);
  if (!name.variable) {
    const Value* builtin = names_.builtins().find(name.name);
    return builtin ? signature_of(names_, *builtin) : nullptr;
  }
  const auto function = functions_.find(name.variable);
  if (function != functions_.end()) return declared(function->second);
  const auto imported = imports_.find(name.variable);
  return imported == imports_.end() || !imported->second.function ? nullptr : declared(imported->second.function);
}

/// Binds the arguments as a call does, whatever their values.
void CallCheck::check_arguments(const CallExpr& call, const Signature& signature) {
  CallShape shape;
  for (const ast::Argument& argument : call.args) {
    if (argument.name) shape.names.push_back(argument.name);
    else ++shape.positional;
  }
  std::vector<Value> slots(signature.parameters.size() + call.args.size());
  try {
    bind_arguments(signature, slots.data(), call.args.size(), &shape);
  } catch (const Failure& failure) {
    const Error& error = failure.error();
    const bool is_argument = error.argument >= 0 && static_cast<size_t>(error.argument) < call.args.size();
    if (!is_argument) return complain(error, call.callee->span);
    const ast::Argument& argument = call.args[static_cast<size_t>(error.argument)];
    complain(error, argument.name ? argument.name_span() : argument.span);
  }
}

void CallCheck::call(const CallExpr& call) {
  const bool is_spread =
      std::any_of(call.args.begin(), call.args.end(), [](const auto& each) { return each.is_spread; });
  if (is_spread) return;  // how many arguments there are is not known
  if (const Signature* signature = called(*call.callee)) check_arguments(call, *signature);
}

}  // namespace

std::vector<Error> find_call_errors(Names& names, const ast::Module& module) { return CallCheck(names, module).run(); }

}  // namespace tsl::analysis
