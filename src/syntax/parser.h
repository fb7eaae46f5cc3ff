// From source text to a resolved tree. This is the only door to ANTLR, which stays behind it:
//   TokenSource  settles newlines, braces and f-strings between the generated lexer and parser
//   ErrorStrategy  says what is wrong in words
//   TreeBuilder  turns ANTLR's tree into ours
//   Resolver  binds names
// All of it may be used by one thread per Interner; ANTLR guards the prediction tables that its parsers
// share.
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

/// What the resolver must know of the world outside the module.
struct ResolveOptions {
  std::function<bool(Name)> is_builtin;
  std::function<std::vector<std::string>()> builtin_names;  // only called to suggest a name
  std::function<bool(Name)> is_module;                      // of the standard library; to suggest its import
  /// Variables that exist before the module runs (a prompt's earlier lines). They belong to no frame of
  /// this module and are bound as they are.
  std::vector<ast::Variable*> predeclared;
};

/// Binds every name, marks captures, checks assignments. Throws Failure (ErrorKind::name or syntax) with a
/// suggestion where one is near.
void resolve(ast::Module& module, const ResolveOptions& options);

/// Whether `text` may become complete with more lines (for prompts): it ends in open brackets, after an
/// operator, before a `catch`… A string cannot go on in the next line, so an open one is an error and not
/// incomplete.
bool is_incomplete(const std::string& text);

/// Where the comments of a source are. After what is no token at all, every '#' counts as the start of one.
std::vector<Span> find_comments(const Source& source);

/// The tree as text in one canonical form; parse(format(m)) gives the same tree. Comments are not in the tree
/// and are lost, `##` documentation is kept; `fn f() { return x }` becomes `fn f() = x`. Lines are not
/// wrapped.
std::string format(const ast::Module& module);

}  // namespace tsl
