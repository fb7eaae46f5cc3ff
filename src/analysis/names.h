// What is known around a source that is analysed: builtins, variables that exist already, and modules. An engine
// implements it for its session, and a Workspace for sources alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/intern.h"
#include "base/source.h"
#include "syntax/parser.h"
#include "value/builtin.h"
#include "value/value.h"

namespace tsl {

/// The text of a module.
struct ModuleSource {
  std::string key;   // unique for a module
  std::string name;  // for messages; the path of a file
  std::string text;
};

namespace analysis {

/// What could be read of a text that may be at fault, or is being written.
struct ReadText {
  std::shared_ptr<const ast::Module> module;  // without the statements at fault; null if nothing could be read
  std::vector<Error> errors;
};

class Names {
 public:
  virtual ~Names() = default;

  /// Holds the sources that an analysis adds: their spans are valid until the same source is added again, and no longer
  /// than these Names.
  virtual SourceMap& sources() = 0;
  virtual Interner& interner() = 0;
  virtual Builtins& builtins() = 0;
  virtual const Library& library() const = 0;

  /// Returns the variables that are declared before the source: those of a session. They are valid until it goes on.
  virtual std::vector<ast::Variable*> variables() const = 0;
  /// Returns the one of a name; null if there is none.
  virtual ast::Variable* variable(Name name) const = 0;
  /// Returns the value of such a variable; null if there is none, or it is not known.
  virtual const Value* value(Name variable) const = 0;

  /// Adds a source. `path` is its file, beside which its imports are found, or empty.
  virtual uint32_t add_source(std::string name, std::string text, const std::string& path) = 0;
  /// Adds the source of the module that `import path` means in a source. Throws Failure (io).
  virtual uint32_t add_module(const std::string& path, bool is_file, uint32_t importing_source) = 0;
  /// Reads a text, and closes what is open at its end. `path` is its file, or empty. A tree may be valid only until the
  /// next text of that file is read. Throws Failure (limit).
  virtual ReadText read_text(const std::string& name, const std::string& text, const std::string& path);
  /// Returns where a span of a tree is in the text that was read.
  virtual Span span_in_text(Span span) const { return span; }
  /// Returns where the tree of a module is kept as long as its source; null: nowhere.
  virtual std::shared_ptr<const ast::Module>* kept_tree(uint32_t) { return nullptr; }
  /// Returns the names in a folder, those of folders with a "/"; none if the program may not read files.
  virtual std::vector<std::string> folder_entries(const std::string& folder) const = 0;
};

/// Returns the value of a variable or a builtin; null if it is not known. May load a part of the prelude.
const Value* find_value(Names& names, Name name);
/// Returns the signature of what can be called; null for other values.
const Signature* signature_of(Names& names, const Value& callee);
/// Returns the value of a field of a record or a member of a module; null if it is not known.
const Value* member_of(const Value& object, Name name);

/// Returns what the resolver needs to know about names outside of a module. `builtins` and `library` must outlive it.
ResolveOptions resolve_options(const Builtins& builtins, const Library& library, Predeclared predeclared = {});
/// Returns likewise what it needs to know for a source of a session. `names` must outlive it.
ResolveOptions resolve_options(Names& names);

/// Adds and reads the module that `import path` means in a source. Throws Failure (io, syntax, name).
std::shared_ptr<const ast::Module> read_module(Names& names, const std::string& path, bool is_file,
                                               uint32_t importing_source);

/// Returns the imports of names by a module of the library, which exports what it imports; none of other modules.
std::vector<const ast::ImportStmt*> library_imports(Names& names, const ast::Module& module);

/// Returns the module of the library that `import path` means in a source of the name `importer`: the one of that name
/// or, within the library, the file. Nothing if there is none.
std::optional<ModuleSource> library_module(const Library& library, const std::string& path, bool is_file,
                                           const std::string& importer);

/// Whether a source of that name is a part of the standard library.
bool is_library_source(std::string_view name);

/// Lists a folder for Names::folder_entries().
std::vector<std::string> list_folder(const std::string& folder);

}  // namespace analysis
}  // namespace tsl
