// Modules: found once, compiled once, run once.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/compiler.h"
#include "syntax/ast.h"
#include "value/value.h"

namespace tsl {

class Engine;
struct EmbeddedSource;

class ModuleLoader {
 public:
  explicit ModuleLoader(Engine& engine) : engine_(engine) {}

  /// The module that `import path` in `importing_source` means: a bare name (the standard library, then the folders
  /// of TSL_PATH) or a file (beside the importing file, then TSL_PATH). Throws Failure (io) that lists what was
  /// tried, Failure (name) for a cycle, or whatever the module itself fails with.
  Value import(Name path, bool is_file, uint32_t importing_source);
  /// A part of the prelude.
  Ref<Module> load_prelude(const EmbeddedSource& source);

  /// Runs a script and gives its value. `path` is its file, or empty.
  Value run_script(std::string name, std::string text, const std::string& path);
  /// Parses and resolves. `path` is the file the text comes from, or empty; `predeclared` are variables it may use
  /// (a prompt's).
  std::unique_ptr<ast::Module> read(std::string name, std::string text, const std::string& path = "",
                                    const std::vector<ast::Variable*>& predeclared = {});
  /// Compiles and runs what read() gave.
  Value run(const ast::Module& module, const CompileOptions& options, VariableCells& cells, Name name = nullptr);

  /// The text of a file. Throws Failure (io).
  static std::string read_file(const std::string& path);
  /// What is left in a stream; `name` is for messages. Throws Failure (io, or limit for what is too long for a source).
  static std::string read_stream(std::istream& stream, const std::string& name);

 private:
  struct Found {
    std::string key;   // one per module
    std::string name;  // of the source, for messages
    std::string text;
  };
  Found find(const std::string& path, bool is_file, uint32_t importing_source) const;
  Ref<Module> load(const Found& found, const std::string& name, bool is_internal);

  Engine& engine_;
  std::unordered_map<std::string, Ref<Module>> loaded_;
  std::vector<std::pair<std::string, std::string>> loading_;  // keys and names, outermost first
  std::unordered_map<uint32_t, std::string> folders_;         // of sources read from files
};

}  // namespace tsl
