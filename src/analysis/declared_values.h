// What is known of the values that a source declares, before it runs: functions with their signatures, modules, and
// what literals say.
#pragma once

#include <string>
#include <unordered_map>

#include "analysis/names.h"
#include "syntax/ast.h"
#include "value/signature.h"

namespace tsl::analysis {

/// Returns what is known of a function from its declaration: its types, if `builtins` has them.
FunctionInfo declared_info(const ast::Function& function, const Builtins& builtins);

/// Makes a function of a declaration, which has a signature, but no code to call.
Value declared_function(const ast::Function& function, const Builtins& builtins);

/// Makes a module of a source that was read: its functions are set, and its other members are not known.
Ref<Module> declared_module(const ast::Module& module, const std::string& name, const Builtins& builtins);

/// Returns the value of a literal, of which parts that are not known are absent; absent for other expressions.
Value literal_value(const ast::Expr& e, const Builtins& builtins);

/// The functions, modules and literals that a source declares, wherever that is, by name.
class DeclaredValues {
 public:
  /// Leaves out what cannot be read of the text or of the modules that it imports.
  DeclaredValues(Names& names, const std::string& text, const std::string& path);

  /// Returns the value of a name, which is absent if it is not known; null if the text does not declare it.
  const Value* find(Name name) const;
  const std::unordered_map<Name, Value>& all() const { return values_; }
  /// Returns the module that `import path` means in the text; null if it cannot be read.
  Ref<Module> import(const std::string& path, bool is_file) const;

 private:
  void add_literal(const ast::DeclareStmt& declaration);
  void add_parameters(const ast::Function& function);
  void add_import(const ast::ImportStmt& import);
  Ref<Module> read(const std::string& path, bool is_file, uint32_t importing_source) const;

  Names& names_;
  uint32_t source_ = 0;
  std::unordered_map<Name, Value> values_;
};

}  // namespace tsl::analysis
