// Finds, compiles and runs modules, each once.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/names.h"
#include "base/text_names.h"
#include "bytecode/code.h"
#include "bytecode/compiler.h"
#include "syntax/ast.h"
#include "value/value.h"

namespace tsl {

class Engine;

class ModuleLoader {
 public:
  explicit ModuleLoader(Engine& engine) : engine_(engine) {}

  /// Returns the module for `import path` in `importing_source`: a bare name (the standard library, then the folders of
  /// TSL_PATH) or a file (beside the importing file, then in TSL_PATH). Throws Failure (io) that lists the places
  /// searched, Failure (name) for a cycle, or the module's own failure.
  Value import(Name path, bool is_file, uint32_t importing_source);
  /// Loads a part of the prelude.
  Ref<Module> load_prelude(const LibrarySource& source);

  /// Forgets the modules that come from files, so that the next import of each reads its file.
  void forget_files();

  /// Runs a script and returns its value. `path` is its file, or empty.
  Value run_script(std::string name, std::string text, const std::string& path);
  /// A tree, with the names in it.
  using Tree = std::shared_ptr<const ast::Module>;
  /// Parses and resolves a module. `path` is its file, or empty; `predeclared` are a prompt's variables, which it may
  /// use. The names in it are permanent, or are freed with the tree and the source.
  Tree read(std::string name, std::string text, const std::string& path, TextNames::Lifetime names,
            const Predeclared& predeclared = {});
  /// Adds a source to those of the engine. `path` is its file, or empty.
  uint32_t add_source(std::string name, std::string text, const std::string& path);
  /// Adds the source of the module that import() would run.
  uint32_t add_import(const std::string& path, bool is_file, uint32_t importing_source);
  /// Frees a source of which nothing is left, or only the last error, which may be shown until the next one.
  void forget_source(uint32_t source);
  /// Keeps the sources of an error until the next error.
  void keep_sources_of(const Error& error);
  /// Reads a script or a module of the user, and warns of values that it does not use.
  Tree read_program(std::string name, std::string text, const std::string& path, TextNames::Lifetime names);
  /// Reads an entry of a prompt likewise; its variables may be declared by earlier ones.
  Tree read_entry(std::string name, std::string text, const std::string& path, const Predeclared& predeclared);
  /// Compiles and runs a module from read(). Its code and its source remain as long as functions refer to them.
  /// `kept` receives the code if that may run again: run_again(); it declares no functions.
  Value run(const ast::Module& module, const CompileOptions& options, VariableCells& cells, Name name = nullptr,
            Ref<Code>* kept = nullptr);
  /// Whether code may run more than once: no report is to show how each text was compiled, and memory is not short.
  bool may_repeat_code() const;
  Value run_again(Ref<Code> code);
  /// Frees kept code, and its source. What still runs is freed later.
  void release_code(Ref<Code> code);

  /// Reads a file. Throws Failure (io).
  static std::string read_file(const std::string& path);
  /// Reads the rest of a stream; `name` is for messages. Throws Failure (io, or limit if it is too long for a source).
  static std::string read_stream(std::istream& stream, const std::string& name);

 private:
  /// Whether something may ask for code that nothing can run any more: a report on the whole run.
  bool keeps_code() const;
  void free_unused_code();
  Ref<Code> to_code(const ast::Module& module, const CompileOptions& options, VariableCells& cells, Name name);
  ModuleSource find(const std::string& path, bool is_file, uint32_t importing_source) const;
  Ref<Module> load(const ModuleSource& found, const std::string& name, bool is_internal);

  Engine& engine_;
  std::unordered_map<std::string, Ref<Module>> loaded_;
  std::vector<std::pair<std::string, std::string>> loading_;        // keys and names, outermost first
  std::unordered_map<uint32_t, std::string> folders_;               // of sources from files
  std::unordered_map<uint32_t, std::shared_ptr<TextNames>> names_;  // of sources
  std::vector<uint32_t> last_error_;                                // its sources
  std::vector<uint32_t> forgotten_;                                 // of these, those that nothing else keeps
};

}  // namespace tsl
