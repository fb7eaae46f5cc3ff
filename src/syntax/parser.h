// Turns source text into a resolved tree. Only this folder uses ANTLR:
//   TokenSource    processes newlines, braces and f-strings between the generated lexer and parser
//   ErrorStrategy  formulates error messages
//   recovery.h     finds what to skip after an error, habits.h what was meant
//   TreeBuilder    converts ANTLR's tree to the abstract syntax tree
//   Resolver       binds names
// One thread per Interner may use it; ANTLR locks the prediction tables that its parsers share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/intern.h"
#include "base/source.h"
#include "base/text_names.h"
#include "syntax/ast.h"

namespace tsl {

/// Parses source `id`. Throws Failure (of the kind syntax, or limit for trees nested too deeply) with all syntax
/// errors.
std::unique_ptr<ast::Module> parse(const SourceMap& sources, uint32_t id, Interner& names);

/// A signature that is not part of a module, such as a builtin's.
struct Declaration {
  ast::Module tree;  // owns the nodes; spans are offsets in the text
  ast::Function* function = nullptr;
  ast::Parameter* rest = nullptr;  // `...name: type`, which takes further positional arguments; may be null
};

/// Parses "sum(x: array, axis: integers | nil = nil)", with a result if it has one: "-> f32[n]". Throws Failure
/// (syntax).
std::unique_ptr<Declaration> parse_declaration(std::string_view text, Interner& names);

/// Variables that exist before a module runs (those of a prompt's earlier lines). They belong to no frame of the
/// module, and names are bound to them directly. A session may have thousands, of which a line uses few.
struct Predeclared {
  std::function<ast::Variable*(Name)> find;         // null for an unknown name; empty if there are no variables
  std::function<std::vector<std::string>()> names;  // only called to suggest a name
};

/// What the resolver needs to know about names outside the module.
struct ResolveOptions {
  std::function<bool(Name)> is_builtin;
  std::function<std::vector<std::string>()> builtin_names;  // only called to suggest a name
  std::function<bool(Name)> is_module;                      // of the standard library; to suggest its import
  Predeclared predeclared;
  /// Set for a module without the statements that could not be read: these may declare the names, and may enclose the
  /// others in a function or a loop.
  bool is_incomplete = false;
  std::unordered_set<Name> maybe_declared;
};

/// Binds every name, also of a tree that was bound before, marks captures, checks assignments. Returns the errors (of
/// the kinds name or syntax), with a hint if a similar name exists; the module can be compiled if there are none.
std::vector<Error> find_name_errors(ast::Module& module, const ResolveOptions& options);
/// As find_name_errors(), but throws Failure with all errors.
void resolve(ast::Module& module, const ResolveOptions& options);

/// Parses and resolves source `id`. Throws Failure with the syntax errors, and the name errors of what could be read.
/// `names` must outlive the tree.
std::unique_ptr<ast::Module> parse_resolved(const SourceMap& sources, uint32_t id, TextNames& names,
                                            ResolveOptions options);
std::unique_ptr<ast::Module> parse_resolved(const SourceMap& sources, uint32_t id, Interner& names,
                                            ResolveOptions options);

/// The most errors that are shown of one source.
inline constexpr size_t kMaxSourceErrors = 20;

/// What could be read of a source, whose names are not bound.
struct ParsedSource {
  std::unique_ptr<ast::Module> module;  // without the statements at fault; null if nothing could be read
  std::vector<Error> errors;
  std::unordered_set<Name> skipped;  // the names in those statements, which may declare them
};
/// Throws Failure (limit, or syntax if the text is no UTF-8).
ParsedSource parse_unbound(const SourceMap& sources, uint32_t id, Interner& names);

/// What could be read of a source that may be at fault, or is being typed.
struct ReadableSource {
  std::unique_ptr<ast::Module> module;  // without the statements at fault; null if nothing could be read
  std::vector<Error> errors;
};
/// As parse_resolved(), but returns the errors. Throws Failure (limit, or syntax if the text is no UTF-8).
ReadableSource parse_readable(const SourceMap& sources, uint32_t id, Interner& names, ResolveOptions options);

/// Returns a warning for each expression statement that does nothing: its value is not used, and no part of it has an
/// effect. The module's last expression counts as used. `has_effect` is asked about the builtins that are called.
std::vector<Error> find_unused_values(const ast::Module& module, const std::function<bool(Name)>& has_effect);
/// As find_unused_values() for an entry of a prompt: all expressions at its top level count as used.
std::vector<Error> find_unused_values_of_entry(const ast::Module& module, const std::function<bool(Name)>& has_effect);

/// Whether `text` may become complete with more lines (for prompts): it ends within brackets, after an operator, before
/// a `catch`… A string cannot continue on the next line, so an unterminated one is an error.
bool is_incomplete(const std::string& text);

/// Returns the comments of a source. After an invalid token, every '#' counts as the start of one.
std::vector<Span> find_comments(const Source& source);

/// Formats the tree as canonical text; parse(format(m)) gives the same tree. Comments are lost, since the tree does not
/// contain them; `##` documentation is kept. `fn f() { return x }` becomes `fn f() = x`. Lines are not wrapped.
std::string format(const ast::Module& module);
/// Format the type of a parameter or a result, and the limits of a parameter.
std::string format(const ast::Annotation& annotation);
std::string format(const ast::Limits& limits);

}  // namespace tsl
