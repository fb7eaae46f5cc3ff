#include "analysis/declared_values.h"

#include "analysis/unfinished_source.h"
#include "bytecode/declaration.h"
#include "syntax/tree_walk.h"
#include "value/map.h"

namespace tsl::analysis {

using ast::as;

namespace {

/// A function that owns what is known of it: no code exists to which it could refer.
struct DeclaredFunction final : Function {
  explicit DeclaredFunction(FunctionInfo known) : declared(std::move(known)) { info = &declared; }
  const FunctionInfo declared;
};

/// Calls body(name, value) for the functions of a tree, those within others included.
template <class Body> void for_each_function(const ast::Function& tree, const Builtins& builtins, Body&& body) {
  const auto at_statement = [&](const ast::Stmt& statement, bool) {
    if (statement.kind != ast::StmtKind::function) return;
    const auto& declared = as<ast::FunctionStmt>(statement);
    body(*declared.variable, declared_function(*declared.function, builtins));
  };
  walk_tree(tree, {at_statement, [](const ast::Expr&, bool) {}});
}

std::string name_in_path(const std::string& path) {
  const size_t begin = path.rfind('/') + 1;  // 0 if there is none
  return path.substr(begin, path.rfind('.') > begin ? path.rfind('.') - begin : std::string::npos);
}

/// Returns a map of the keys that are written as strings, to nil: what a map holds is not known before it runs.
Value literal_map(const ast::MapExpr& e) {
  Ref<Map> map = make_ref<Map>();
  for (const ast::MapEntry& entry : e.entries) {
    const bool is_text = entry.key && entry.key->kind == ast::ExprKind::string;
    if (is_text) map->set(make_string(*as<ast::StringExpr>(*entry.key).text), Value());
  }
  return Value(std::move(map));
}

/// Returns a record with the fields of an annotation, absent but for records in it; absent for other annotations.
Value described_value(const ast::Annotation& annotation) {
  if (annotation.fields.empty() || annotation.other) return Value::absent();
  std::vector<std::pair<Name, Value>> entries;
  for (size_t i = 0; i < annotation.fields.size(); ++i)
    entries.emplace_back(annotation.fields[i], described_value(*annotation.parts[i]));
  return make_record(std::move(entries));
}

}  // namespace

FunctionInfo declared_info(const ast::Function& function, const Builtins& builtins) {
  FunctionInfo info;
  info.name = function.name;
  info.doc = function.doc;
  info.span = function.span;
  info.signature.function = info.display_name();
  const RegisterOf no_register = [](const ast::Variable&) { return uint16_t{0}; };  // for what is never called
  for (const ast::Parameter& parameter : function.parameters) {
    try {
      info.signature.parameters.push_back(parameter_info(parameter, &builtins, no_register));
    } catch (const Failure&) {  // a type that does not exist
      ast::Parameter plain = parameter;
      plain.annotation = nullptr;
      info.signature.parameters.push_back(parameter_info(plain, &builtins, no_register));
    }
  }
  if (function.rest) {
    info.signature.rest.emplace();
    info.signature.rest->name = function.rest->name;
  }
  try {
    if (function.returns) info.signature.result = value_type(*function.returns, &builtins, no_register);
  } catch (const Failure&) { info.signature.result.reset(); }
  return info;
}

Value declared_function(const ast::Function& function, const Builtins& builtins) {
  return Value(make_ref<DeclaredFunction>(declared_info(function, builtins)));
}

Value literal_value(const ast::Expr& e, const Builtins& builtins) {
  if (e.kind == ast::ExprKind::boolean) return Value(as<ast::BoolExpr>(e).value);
  if (e.kind == ast::ExprKind::integer) return Value(as<ast::IntExpr>(e).value);
  if (e.kind == ast::ExprKind::real) return Value(as<ast::RealExpr>(e).value);
  if (e.kind == ast::ExprKind::string) return make_string(*as<ast::StringExpr>(e).text);
  if (e.kind == ast::ExprKind::lambda) return declared_function(*as<ast::LambdaExpr>(e).function, builtins);
  if (e.kind == ast::ExprKind::map) return literal_map(as<ast::MapExpr>(e));
  if (e.kind != ast::ExprKind::record) return Value::absent();
  std::vector<std::pair<Name, Value>> entries;
  for (const ast::RecordEntry& entry : as<ast::RecordExpr>(e).entries) {
    if (entry.key) entries.emplace_back(entry.key, literal_value(*entry.value, builtins));
  }
  return make_record(std::move(entries));
}

Ref<Module> declared_module(const ast::Module& module, const std::string& name, const Builtins& builtins) {
  Ref<Module> made = make_ref<Module>();
  made->name = name;
  made->doc = module.doc;
  for (const ast::Variable* variable : module.main->variables) {
    if (variable->is_exported) made->exports.emplace_back(variable->name, make_ref<Cell>());
  }
  for_each_function(*module.main, builtins, [&](const ast::Variable& variable, Value function) {
    Cell* cell = variable.is_exported ? made->find(variable.name) : nullptr;
    if (!cell) return;
    cell->value = std::move(function);
    cell->is_set = true;
  });
  return made;
}

DeclaredValues::DeclaredValues(Names& names, const std::string& text, const std::string& path) : names_(names) {
  const std::shared_ptr<const ast::Module> module = read_unfinished(names, text, path);
  if (!module) return;
  source_ = module->source;
  for (const ast::Variable* variable : module->main->variables) values_[variable->name] = Value::absent();
  for_each_function(*module->main, names.builtins(), [&](const ast::Variable& variable, Value function) {
    values_[variable.name] = std::move(function);
  });
  const auto at_statement = [this](const ast::Stmt& statement, bool) {
    if (statement.kind == ast::StmtKind::declare) add_literal(as<ast::DeclareStmt>(statement));
    if (statement.kind == ast::StmtKind::function) add_parameters(*as<ast::FunctionStmt>(statement).function);
    if (statement.kind == ast::StmtKind::import) add_import(as<ast::ImportStmt>(statement));
  };
  walk_tree(*module->main, {at_statement, [](const ast::Expr&, bool) {}});
}

void DeclaredValues::add_literal(const ast::DeclareStmt& declaration) {
  const ast::Variable* variable = declaration.pattern->variable;
  if (!variable || variable->is_mutable) return;
  Value value = literal_value(*declaration.value, names_.builtins());
  if (!value.is(Tag::absent)) values_[variable->name] = std::move(value);
}

/// Adds the parameters whose fields are declared, unless another name is the same.
void DeclaredValues::add_parameters(const ast::Function& function) {
  for (const ast::Parameter& parameter : function.parameters) {
    Value described = parameter.annotation ? described_value(*parameter.annotation) : Value::absent();
    if (!described.is(Tag::absent)) values_.try_emplace(parameter.variable->name, std::move(described));
  }
}

void DeclaredValues::add_import(const ast::ImportStmt& import) {
  const Ref<Module> module = this->import(*import.path, import.is_file);
  if (!module) return;
  if (import.variable) values_[import.variable->name] = Value(module);
  for (const ast::ImportedName& item : import.names) {
    if (const Value* member = member_of(Value(module), item.name)) values_[item.variable->name] = *member;
  }
}

Ref<Module> DeclaredValues::import(const std::string& path, bool is_file) const {
  try {
    return read(path, is_file, source_);
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    return {};  // check() says what is wrong with it
  }
}

Ref<Module> DeclaredValues::read(const std::string& path, bool is_file, uint32_t importing_source) const {
  const auto tree = read_module(names_, path, is_file, importing_source);
  const Ref<Module> module = declared_module(*tree, name_in_path(path), names_.builtins());
  for (const ast::ImportStmt* import : library_imports(names_, *tree)) {
    const Value part(this->read(*import->path, import->is_file, tree->source));
    for (const ast::ImportedName& item : import->names) {
      const Value* member = member_of(part, item.name);
      Cell* cell = module->find(item.variable->name);
      if (!member || !cell) continue;
      cell->value = *member;
      cell->is_set = true;
    }
  }
  return module;
}

const Value* DeclaredValues::find(Name name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace tsl::analysis
