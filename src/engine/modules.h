// Finds, compiles and runs modules, each once.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/names.h"
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
  /// Parses and resolves a module. `path` is its file, or empty; `predeclared` are a prompt's variables, which it may
  /// use.
  std::unique_ptr<ast::Module> read(std::string name, std::string text, const std::string& path = "",
                                    const std::vector<ast::Variable*>& predeclared = {});
  /// Adds a source to those of the engine. `path` is its file, or empty.
  uint32_t add_source(std::string name, std::string text, const std::string& path);
  /// Adds the source of the module that import() would run.
  uint32_t add_import(const std::string& path, bool is_file, uint32_t importing_source);
  /// Frees a source of which nothing is left but errors.
  void forget_source(uint32_t source);
  /// Reads a script or a module of the user, and warns of values that it does not use.
  std::unique_ptr<ast::Module> read_program(std::string name, std::string text, const std::string& path);
  /// Reads an entry of a prompt likewise; its variables may be declared by earlier ones.
  std::unique_ptr<ast::Module> read_entry(std::string name, std::string text, const std::string& path,
                                          const std::vector<ast::Variable*>& predeclared);
  /// Compiles and runs a module from read(). `is_kept` receives whether something may refer to its code afterwards.
  Value run(const ast::Module& module, const CompileOptions& options, VariableCells& cells, Name name = nullptr,
            bool* is_kept = nullptr);

  /// Reads a file. Throws Failure (io).
  static std::string read_file(const std::string& path);
  /// Reads the rest of a stream; `name` is for messages. Throws Failure (io, or limit if it is too long for a source).
  static std::string read_stream(std::istream& stream, const std::string& name);

 private:
  std::unique_ptr<Proto> to_bytecode(const ast::Module& module, const CompileOptions& options, VariableCells& cells);
  ModuleSource find(const std::string& path, bool is_file, uint32_t importing_source) const;
  Ref<Module> load(const ModuleSource& found, const std::string& name, bool is_internal);

  Engine& engine_;
  std::unordered_map<std::string, Ref<Module>> loaded_;
  std::vector<std::pair<std::string, std::string>> loading_;  // keys and names, outermost first
  std::unordered_map<uint32_t, std::string> folders_;         // of sources from files
  uint32_t refused_source_ = 0;                               // the last text that could not be read; 0: none
};

}  // namespace tsl
