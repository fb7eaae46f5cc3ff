// Turns source text into a resolved tree. Only this folder uses ANTLR:
//   TokenSource    processes newlines, braces and f-strings between the generated lexer and parser
//   ErrorStrategy  formulates error messages
//   TreeBuilder    converts ANTLR's tree to the abstract syntax tree
//   Resolver       binds names
// One thread per Interner may use it; ANTLR locks the prediction tables that its parsers share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/intern.h"
#include "base/source.h"
#include "syntax/ast.h"

namespace tsl {

/// Parses source `id`. Throws Failure (ErrorKind::syntax, or limit for trees nested too deeply).
std::unique_ptr<ast::Module> parse(const SourceMap& sources, uint32_t id, Interner& names);

/// What the resolver needs to know about names outside the module.
struct ResolveOptions {
  std::function<bool(Name)> is_builtin;
  std::function<std::vector<std::string>()> builtin_names;  // only called to suggest a name
  std::function<bool(Name)> is_module;                      // of the standard library; to suggest its import
  /// Variables that exist before the module runs (those of a prompt's earlier lines). They belong to no frame of this
  /// module, and names are bound to them directly.
  std::vector<ast::Variable*> predeclared;
};

/// Binds every name, marks captures, checks assignments. Throws Failure (ErrorKind::name or syntax), with a suggestion
/// if a similar name exists.
void resolve(ast::Module& module, const ResolveOptions& options);

/// Whether `text` may become complete with more lines (for prompts): it ends within brackets, after an operator, before
/// a `catch`… A string cannot continue on the next line, so an unterminated one is an error.
bool is_incomplete(const std::string& text);

/// Formats the tree as canonical text; parse(format(m)) gives the same tree. Comments are lost, since the tree does not
/// contain them; `##` documentation is kept. `fn f() { return x }` becomes `fn f() = x`. Lines are not wrapped.
std::string format(const ast::Module& module);

}  // namespace tsl
