// Binds names to variables.
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/run_watch.h"
#include "syntax/attributes.h"
#include "syntax/fail_at.h"
#include "syntax/parser.h"
#include "syntax/tree_walk.h"

namespace tsl {

using namespace ast;

namespace {

/// How a variable was declared, for messages about assigning to it.
enum class Origin { declaration, parameter, loop, function, import, error, dimension, result_dimension };

struct Binding {
  Variable* variable = nullptr;
  Origin origin = Origin::declaration;
};

using Scope = std::unordered_map<Name, Binding>;

/// A function whose body is being resolved.
struct Frame {
  Function* function = nullptr;
  size_t first_scope = 0;  // index of its first scope
  int loops = 0;           // enclosing the current statement
  std::vector<Variable*> variables;
  std::vector<Variable*> captures;
  std::unordered_set<Variable*> captured;  // the same as a set
};

class Resolver {
 public:
  Resolver(Module& module, const ResolveOptions& options) : module_(module), options_(options) {}
  std::vector<Error> run();

 private:
  void function(Function& function);
  void parameters(Function& function);
  void annotation(const Annotation& annotation, Origin origin);

  void block(const Block& block);
  void statements(const Block& block);
  void hoist_functions(const Block& block);
  void statement(Stmt& statement);
  void loop(const Block& body, const Pattern* each);
  void attempt(const TryExpr& attempt);
  void import(const ImportStmt& import);
  void assign(const AssignStmt& assignment);
  void target(Expr& target);
  void assign_name(NameExpr& name, bool is_part);
  void refuse_unknown_target(const NameExpr& name);
  void refuse_immutable(const NameExpr& name, const Binding& binding, bool is_part);

  void expression(Expr& expression);
  void conditional(const IfExpr& conditional);
  void index(const IndexExpr& index);
  void name(NameExpr& name);
  void refuse_unknown(const NameExpr& name);
  void complain(ErrorName name, Span span, std::string message, std::vector<std::string> hints = {},
                std::vector<RelatedPlace> related = {});

  void declare(Variable* variable, Origin origin);
  void declare_pattern(const Pattern& pattern, Origin origin);
  void check_distinct(const Pattern& pattern, std::unordered_set<Name>& seen);
  Binding find(Name name) const;
  Variable* predeclared(Name name) const {
    return options_.predeclared.find ? options_.predeclared.find(name) : nullptr;
  }
  void use(Variable* variable, bool is_assignment);
  std::string suggestion(Name name) const;
  bool may_be_declared(Name name) const { return options_.maybe_declared.count(name) != 0; }
  void collect_later_names();
  void note_later(const Pattern& pattern, Origin origin);
  void note_later(Variable& variable, Origin origin);

  Module& module_;
  const ResolveOptions& options_;
  std::vector<Scope> scopes_;
  std::vector<Frame> frames_;
  std::vector<Error> errors_;
  bool is_index_ = false;             // within the brackets of an index
  std::unordered_set<Name> refused_;  // unknown names, each an error once
  Scope later_;  // the module's top-level names, since a function's body may use a name declared later
};

std::vector<Error> Resolver::run() {
  collect_later_names();
  function(*module_.main);
  return std::move(errors_);
}

void Resolver::complain(ErrorName name, Span span, std::string message, std::vector<std::string> hints,
                        std::vector<RelatedPlace> related) {
  errors_.push_back({name, std::move(message), span, std::move(hints), {}});
  errors_.back().related = std::move(related);
}

// ---- Names and scopes ----------------------------------------------------------------------------------

/// Forgets what an earlier run has found of a variable.
void unbind(Variable& variable) {
  variable.owner = nullptr;
  variable.is_captured = variable.is_assigned_by_capture = false;
}

void Resolver::note_later(const Pattern& pattern, Origin origin) {
  if (pattern.variable) note_later(*pattern.variable, origin);
  for (const Pattern* item : pattern.items) note_later(*item, origin);
}

void Resolver::note_later(Variable& variable, Origin origin) {
  unbind(variable);
  later_.emplace(variable.name, Binding{&variable, origin});
}

void Resolver::collect_later_names() {
  for (const Stmt* statement : module_.main->body->statements) {
    if (statement->kind == StmtKind::declare) {
      note_later(*as<DeclareStmt>(*statement).pattern, Origin::declaration);
    } else if (statement->kind == StmtKind::import) {
      const auto& import = as<ImportStmt>(*statement);
      if (import.variable) note_later(*import.variable, Origin::import);
      for (const ImportedName& item : import.names) note_later(*item.variable, Origin::import);
    }
  }
}

void Resolver::declare(Variable* variable, Origin origin) {
  Frame& frame = frames_.back();
  variable->owner = frame.function;
  variable->index = static_cast<uint32_t>(frame.variables.size());
  variable->is_exported = frame.function->is_module && scopes_.size() == frame.first_scope + 1;
  const bool may_be_used = variable->is_exported && origin != Origin::function;  // by a function before it
  if (!may_be_used) variable->is_captured = variable->is_assigned_by_capture = false;
  frame.variables.push_back(variable);
  scopes_.back()[variable->name] = {variable, origin};
}

void Resolver::declare_pattern(const Pattern& pattern, Origin origin) {
  if (pattern.variable) declare(pattern.variable, origin);
  for (const Pattern* item : pattern.items) declare_pattern(*item, origin);
}

void Resolver::check_distinct(const Pattern& pattern, std::unordered_set<Name>& seen) {
  if (pattern.variable && !seen.insert(pattern.variable->name).second) {
    complain(ErrorName::repeated_name, pattern.span, fmt::format("'{}' is bound twice here", *pattern.variable->name));
  }
  for (const Pattern* item : pattern.items) check_distinct(*item, seen);
}

Binding Resolver::find(Name name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return found->second;
  }
  const bool in_function = frames_.size() > 1;
  if (in_function) {
    const auto found = later_.find(name);
    if (found != later_.end()) return found->second;
  }
  return {predeclared(name), Origin::declaration};
}

/// Marks a variable that a nested function uses, and adds it to the captures of every function between them.
void Resolver::use(Variable* variable, bool is_assignment) {
  if (predeclared(variable->name) == variable) return;
  // A name that is declared later has no owner yet; it belongs to the module.
  const Function* owner = variable->owner ? variable->owner : module_.main;
  for (size_t i = frames_.size(); i-- > 0 && frames_[i].function != owner;) {
    variable->is_captured = true;
    if (is_assignment) variable->is_assigned_by_capture = true;
    if (frames_[i].captured.insert(variable).second) frames_[i].captures.push_back(variable);
  }
}

std::string Resolver::suggestion(Name name) const {
  std::vector<std::string> candidates;
  const auto add = [&](const Scope& scope) {
    for (const auto& entry : scope) candidates.push_back(*entry.first);
  };
  for (const Scope& scope : scopes_) add(scope);
  if (frames_.size() > 1) add(later_);
  for (const auto& names : {options_.predeclared.names, options_.builtin_names}) {
    if (!names) continue;
    for (std::string& each : names()) candidates.push_back(std::move(each));
  }
  return suggest_name(*name, candidates);
}

void Resolver::name(NameExpr& name) {
  name.variable = nullptr;
  const Binding binding = find(name.name);
  if (binding.origin == Origin::result_dimension) {
    return complain(ErrorName::misplaced_dimension, name.span,
                    fmt::format("dimension '{}' is known only once the function has returned", *name.name));
  }
  if (binding.variable) {
    name.variable = binding.variable;
    use(binding.variable, false);
  } else if (!options_.is_builtin || !options_.is_builtin(name.name)) {
    refuse_unknown(name);
  }
}

void Resolver::refuse_unknown(const NameExpr& name) {
  if (may_be_declared(name.name) || !refused_.insert(name.name).second) return;
  if (is_index_ && *name.name == "end") {
    return complain(ErrorName::unknown_name, name.span, "unknown name 'end'",
                    {"`x[1:]` goes to the end, and `x[-1]` is the last item"});
  }
  if (options_.is_incomplete && *name.name == "end") return;  // of a block whose start could not be read
  if (*name.name == "_") return complain(ErrorName::unknown_name, name.span, "'_' discards a value and holds none");
  std::vector<std::string> hints;
  std::string suggested = suggestion(name.name);
  if (options_.is_module && options_.is_module(name.name)) {
    hints.push_back(fmt::format("it is a module: import {}", *name.name));
  } else if (later_.count(name.name)) {
    hints.push_back("it is declared further down");
  } else if (!suggested.empty()) {
    hints.push_back(std::move(suggested));
  }
  complain(ErrorName::unknown_name, name.span, fmt::format("unknown name '{}'", *name.name), std::move(hints));
}

// ---- Functions -----------------------------------------------------------------------------------------

void Resolver::function(Function& function) {
  Frame frame;
  frame.function = &function;
  frame.first_scope = scopes_.size();
  frames_.push_back(std::move(frame));
  scopes_.emplace_back();
  parameters(function);
  // Only a module's body shares its scope with parameters: `let x = x` in a function is a new x.
  if (function.is_module) {
    statements(*function.body);
  } else {
    block(*function.body);
  }
  scopes_.pop_back();
  function.variables = module_.arena.copy(frames_.back().variables);
  function.captures = module_.arena.copy(frames_.back().captures);
  frames_.pop_back();
}

/// Resolves parameters in order, as defaults are computed: one may use earlier parameters and dimensions.
void Resolver::parameters(Function& function) {
  std::unordered_set<Name> bound;
  for (const Parameter& parameter : function.parameters) {
    if (parameter.default_value) expression(*parameter.default_value);
    const Name name = parameter.variable->name;
    if (scopes_.back().count(name) && *name != "_") {
      complain(ErrorName::repeated_name, parameter.variable->span,
               fmt::format("parameter '{}' is declared twice", *name));
    }
    declare(parameter.variable, Origin::parameter);
    if (parameter.pattern) {
      check_distinct(*parameter.pattern, bound);
      declare_pattern(*parameter.pattern, Origin::parameter);
    } else {
      bound.insert(name);
    }
    if (parameter.annotation) annotation(*parameter.annotation, Origin::dimension);
  }
  if (function.rest) {
    if (scopes_.back().count(function.rest->name) && *function.rest->name != "_") {
      complain(ErrorName::repeated_name, function.rest->span,
               fmt::format("parameter '{}' is declared twice", *function.rest->name));
    }
    declare(function.rest, Origin::parameter);
  }
  if (function.returns) annotation(*function.returns, Origin::result_dimension);
}

void Resolver::annotation(const Annotation& annotation, Origin origin) {
  for_each_dim(&annotation, [&](const AnnotatedDim& dim) {
    if (dim.binds) declare(dim.variable, origin);
  });
}

// ---- Statements ----------------------------------------------------------------------------------------

void Resolver::block(const Block& block) {
  scopes_.emplace_back();
  statements(block);
  scopes_.pop_back();
}

void Resolver::statements(const Block& block) {
  hoist_functions(block);
  for (Stmt* item : block.statements) {
    poll_stop();
    statement(*item);
  }
}

/// Declares functions in their whole block, so that they may call each other.
void Resolver::hoist_functions(const Block& block) {
  std::unordered_set<Name> seen;
  for (const Stmt* item : block.statements) {
    if (item->kind != StmtKind::function) continue;
    const auto& declared = as<FunctionStmt>(*item);
    if (!seen.insert(declared.variable->name).second) {
      complain(ErrorName::redeclared_function, declared.function->name_span,
               fmt::format("function '{}' is declared twice in this block", *declared.variable->name));
    }
    declare(declared.variable, Origin::function);
  }
}

void Resolver::statement(Stmt& statement) {
  switch (statement.kind) {
    case StmtKind::expr: return expression(*as<ExprStmt>(statement).value);
    case StmtKind::declare: {
      const auto& declaration = as<DeclareStmt>(statement);
      expression(*declaration.value);
      std::unordered_set<Name> seen;
      check_distinct(*declaration.pattern, seen);
      return declare_pattern(*declaration.pattern, Origin::declaration);
    }
    case StmtKind::assign: return assign(as<AssignStmt>(statement));
    case StmtKind::function: {
      const auto& declared = as<FunctionStmt>(statement);
      try {
        read_attributes(*declared.function);
      } catch (const Failure& failure) { errors_.push_back(failure.error()); }
      return function(*declared.function);
    }
    case StmtKind::return_:
      if (frames_.size() == 1 && !options_.is_incomplete)
        complain(ErrorName::misplaced_jump, statement.span, "'return' outside a function",
                 {"a script ends at its end; `print(x)` shows a value"});
      if (Expr* value = as<ReturnStmt>(statement).value) expression(*value);
      return;
    case StmtKind::while_:
      expression(*as<WhileStmt>(statement).condition);
      return loop(*as<WhileStmt>(statement).body, nullptr);
    case StmtKind::for_:
      expression(*as<ForStmt>(statement).iterable);
      return loop(*as<ForStmt>(statement).body, as<ForStmt>(statement).pattern);
    case StmtKind::break_:
    case StmtKind::continue_:
      if (frames_.back().loops == 0 && !options_.is_incomplete) {
        const bool is_break = statement.kind == StmtKind::break_;
        complain(ErrorName::misplaced_jump, statement.span,
                 fmt::format("'{}' outside a loop", is_break ? "break" : "continue"),
                 {"it belongs in the block of a `for` or `while`"});
      }
      return;
    case StmtKind::import: return import(as<ImportStmt>(statement));
  }
}

void Resolver::loop(const Block& body, const Pattern* each) {
  scopes_.emplace_back();
  if (each) {
    std::unordered_set<Name> seen;
    check_distinct(*each, seen);
    declare_pattern(*each, Origin::loop);
  }
  ++frames_.back().loops;
  block(body);
  --frames_.back().loops;
  scopes_.pop_back();
}

void Resolver::attempt(const TryExpr& attempt) {
  block(*attempt.body);
  if (attempt.handler) {
    scopes_.emplace_back();
    declare(attempt.error, Origin::error);
    block(*attempt.handler);
    scopes_.pop_back();
  }
  if (attempt.last) block(*attempt.last);
}

void Resolver::import(const ImportStmt& import) {
  if (import.variable) declare(import.variable, Origin::import);
  for (const ImportedName& item : import.names) declare(item.variable, Origin::import);
}

// ---- Assignments ---------------------------------------------------------------------------------------

void Resolver::assign(const AssignStmt& assignment) {
  expression(*assignment.value);
  target(*assignment.target);
}

/// Resolves the target of an assignment: the variable at its base changes.
void Resolver::target(Expr& whole) {
  if (whole.kind == ExprKind::tuple) {
    for (Expr* item : as<TupleExpr>(whole).items) target(*item);
    return;
  }
  Expr* base = &whole;
  while (base->kind == ExprKind::index || base->kind == ExprKind::field) {
    if (base->kind == ExprKind::index) {
      index(as<IndexExpr>(*base));
      base = as<IndexExpr>(*base).object;
    } else {
      base = as<FieldExpr>(*base).object;
    }
  }
  assign_name(static_cast<NameExpr&>(*base), base != &whole);
}

void Resolver::assign_name(NameExpr& name, bool is_part) {
  name.variable = nullptr;
  const bool is_discarded = *name.name == "_" && !is_part;
  if (is_discarded) return;
  const Binding binding = find(name.name);
  if (!binding.variable) return refuse_unknown_target(name);
  if (!binding.variable->is_mutable) return refuse_immutable(name, binding, is_part);
  name.variable = binding.variable;
  use(binding.variable, true);
}

void Resolver::refuse_unknown_target(const NameExpr& name) {
  if (may_be_declared(name.name) || !refused_.insert(name.name).second) return;
  if (options_.is_builtin && options_.is_builtin(name.name)) {
    return complain(ErrorName::assignment_to_constant, name.span,
                    fmt::format("'{}' is a builtin and cannot be assigned to", *name.name),
                    {fmt::format("declare a variable of that name with 'var {}'", *name.name)});
  }
  std::vector<std::string> hints;
  if (std::string suggested = suggestion(name.name); !suggested.empty()) hints.push_back(std::move(suggested));
  hints.push_back(fmt::format("declare it with 'var {} = …'", *name.name));
  complain(ErrorName::undeclared_variable, name.span, fmt::format("'{}' is not declared", *name.name),
           std::move(hints));
}

/// What an immutable variable is, and what to write so that it can change ("" if nothing serves; {} is its name).
struct Immutable {
  const char* what;
  const char* hint;
};

Immutable immutable(Origin origin) {
  switch (origin) {
    case Origin::declaration: return {"is declared with 'let'", "use 'var {}' where it is declared"};
    case Origin::parameter: return {"is a parameter", "declare a variable first: var {0} = {0}"};
    case Origin::loop: return {"is a loop variable", "declare a variable in the loop: var {0} = {0}"};
    case Origin::function: return {"is a function", ""};
    case Origin::import: return {"is imported", ""};
    case Origin::error: return {"is the error caught", ""};
    case Origin::dimension:
    case Origin::result_dimension: return {"is a dimension", ""};
  }
  return {"is immutable", ""};
}

void Resolver::refuse_immutable(const NameExpr& name, const Binding& binding, bool is_part) {
  const auto [what, hint] = immutable(binding.origin);
  std::vector<std::string> hints;
  if (*hint != 0) hints.push_back(fmt::format(fmt::runtime(hint), *name.name));
  std::vector<RelatedPlace> related;
  const Span declared = binding.variable->span;
  if (declared.valid() && predeclared(name.name) != binding.variable) related.push_back({declared, "declared here"});
  complain(ErrorName::assignment_to_constant, name.span,
           fmt::format("'{}' {} and cannot be {}", *name.name, what, is_part ? "changed" : "assigned to"),
           std::move(hints), std::move(related));
}

// ---- Expressions ---------------------------------------------------------------------------------------

/// Casts const away. Only the resolver changes the tree, where it binds names.
template <class T> T& changeable(const T& node) { return const_cast<T&>(node); }

void Resolver::expression(Expr& e) {
  constexpr int64_t kExpressionWork = 64;
  count_work(kExpressionWork);
  const auto each = [this](List<Expr*> items) {
    for (Expr* item : items) expression(*item);
  };
  switch (e.kind) {
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::typed: return;
    case ExprKind::fstring:
      for (const FStringPart& part : as<FStringExpr>(e).parts) {
        if (part.value) expression(*part.value);
        if (part.computed_spec) expression(*part.computed_spec);
      }
      return;
    case ExprKind::name: return name(changeable(as<NameExpr>(e)));
    case ExprKind::list: return each(as<ListExpr>(e).items);
    case ExprKind::tuple:
      if (const auto& tuple = as<TupleExpr>(e); tuple.rest) {
        complain(ErrorName::mixed_entries, tuple.items[*tuple.rest]->span, "a tuple takes no '...'",
                 {"`a + b` joins two tuples; `(first, ...others) = t` takes one apart"});
      }
      return each(as<TupleExpr>(e).items);
    case ExprKind::record:
      for (const RecordEntry& entry : as<RecordExpr>(e).entries) expression(*entry.value);
      return;
    case ExprKind::map:
      for (const MapEntry& entry : as<MapExpr>(e).entries) {
        if (entry.key) expression(*entry.key);
        expression(*entry.value);
      }
      return;
    case ExprKind::range: expression(*as<RangeExpr>(e).begin); return expression(*as<RangeExpr>(e).end);
    case ExprKind::unary: return expression(*as<UnaryExpr>(e).operand);
    case ExprKind::binary: expression(*as<BinaryExpr>(e).left); return expression(*as<BinaryExpr>(e).right);
    case ExprKind::chain:
      expression(*as<ChainExpr>(e).first);
      for (const ChainLink& link : as<ChainExpr>(e).links) expression(*link.right);
      return;
    case ExprKind::logical: expression(*as<LogicalExpr>(e).left); return expression(*as<LogicalExpr>(e).right);
    case ExprKind::call:
      expression(*as<CallExpr>(e).callee);
      for (const Argument& argument : as<CallExpr>(e).args) expression(*argument.value);
      return;
    case ExprKind::index: expression(*as<IndexExpr>(e).object); return index(as<IndexExpr>(e));
    case ExprKind::field: return expression(*as<FieldExpr>(e).object);
    case ExprKind::lambda: return function(*as<LambdaExpr>(e).function);
    case ExprKind::if_: return conditional(as<IfExpr>(e));
    case ExprKind::try_: return attempt(as<TryExpr>(e));
    case ExprKind::block: return block(*as<BlockExpr>(e).block);
  }
}

void Resolver::conditional(const IfExpr& conditional) {
  expression(*conditional.condition);
  block(*conditional.then);
  if (conditional.otherwise) expression(*conditional.otherwise);
}

/// Resolves the items of an index, but not the object.
void Resolver::index(const IndexExpr& index) {
  const bool was_index = std::exchange(is_index_, true);
  for (const IndexItem& item : index.items) {
    for (Expr* part : {item.value, item.start, item.stop, item.step}) {
      if (part) expression(*part);
    }
  }
  is_index_ = was_index;
}

}  // namespace

std::vector<Error> find_name_errors(Module& module, const ResolveOptions& options) {
  return Resolver(module, options).run();
}

void resolve(Module& module, const ResolveOptions& options) {
  std::vector<Error> errors = find_name_errors(module, options);
  if (!errors.empty()) fail_with_all(std::move(errors));
}

}  // namespace tsl
