// Compiles a resolved tree to bytecode.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "bytecode/bytecode.h"
#include "syntax/ast.h"

namespace tsl {

class Builtins;

/// The cells of top-level variables that outlive the compilation of one module, such as a prompt's.
using VariableCells = std::unordered_map<const ast::Variable*, Ref<Cell>>;

struct CompileOptions {
  /// Every top-level variable gets a cell, so that it is accessible from outside (imported modules, prompts). Otherwise
  /// only captured variables do, and the others stay in registers.
  bool export_cells = false;
  bool is_internal = false;  // a module of the prelude
  bool is_library = false;   // a module of the standard library, the prelude included
  DType reals = DType::f32;  // unless the source has a `use`
  std::string_view text{};   // of the source, for the messages of assert; may be empty
  std::string_view name{};   // of the source
  /// Variables keep their values to the end of their scope, for whoever looks at a stopped program, and not only until
  /// their last use.
  bool keeps_variables = false;
  /// Of an entry of a prompt: called with the value of each expression but the last that ends a line at its top level.
  /// Null: these values are dropped.
  const Value* show = nullptr;
};

/// Compiles a module's top level and all functions in it. `cells` holds the cells of variables that exist already
/// and receives those of the module's top level. Throws Failure (name, limit) with a span.
std::unique_ptr<Proto> compile(const Builtins& builtins, const ast::Module& module, const CompileOptions& options,
                               VariableCells& cells);

}  // namespace tsl
