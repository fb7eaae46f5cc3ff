// Sources in memory, for tools that analyse programs without an engine.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "analysis/names.h"
#include "analysis/text_in_parts.h"
#include "bytecode/builtin_table.h"

namespace tsl::analysis {

class Workspace final : public Names {
 public:
  /// Finds the module that `import path` means in a source whose file is `importer` ("" if it has none), where the
  /// library has none. Throws Failure (io).
  using FindModule = std::function<ModuleSource(const std::string& path, bool is_file, const std::string& importer)>;

  /// Without `find_module`, only modules of the library are found. `library` must outlive the workspace.
  explicit Workspace(const Library& library, FindModule find_module = nullptr);

  /// Has later texts read in parts, and the trees of modules kept: for texts that are analysed again and again.
  void expect_edits() { expects_edits_ = true; }
  /// Frees what was kept of the text of a file.
  void forget_text(const std::string& path);

  SourceMap& sources() override { return sources_; }
  Interner& interner() override { return interner_; }
  Builtins& builtins() override { return builtins_; }
  const Library& library() const override { return library_; }
  std::vector<ast::Variable*> variables() const override { return {}; }
  ast::Variable* variable(Name) const override { return nullptr; }
  const Value* value(Name) const override { return nullptr; }
  uint32_t add_source(std::string name, std::string text, const std::string& path) override;
  uint32_t add_module(const std::string& path, bool is_file, uint32_t importing_source) override;
  ReadText read_text(const std::string& name, const std::string& text, const std::string& path) override;
  Span span_in_text(Span span) const override;
  std::shared_ptr<const ast::Module>* kept_tree(uint32_t source) override;
  std::vector<std::string> folder_entries(const std::string& folder) const override { return list_folder(folder); }

 private:
  uint32_t add(const std::string& key, std::string name, std::string text, const std::string& path);
  Ref<Module> read_prelude(const LibrarySource& source);

  const Library& library_;
  const FindModule find_module_;
  SourceMap sources_;
  Interner interner_;
  BuiltinTable builtins_;
  std::unordered_map<std::string, uint32_t> current_;       // by name, apart for modules
  std::unordered_map<uint32_t, std::string> source_paths_;  // of sources that are files
  bool expects_edits_ = false;
  std::unordered_map<std::string, TextInParts> texts_;                        // by path
  std::unordered_map<uint32_t, std::shared_ptr<const ast::Module>> modules_;  // by source
};

}  // namespace tsl::analysis
