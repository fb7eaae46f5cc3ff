// What is known around a source that is analysed in the session of an engine: its variables, modules and builtins.
#pragma once

#include "analysis/names.h"

namespace tsl {

class Engine;

/// For one analysis: frees the sources that it has added. The engine must run no program meanwhile.
class SessionNames final : public analysis::Names {
 public:
  explicit SessionNames(Engine& engine) : engine_(engine) {}
  ~SessionNames() override;
  SessionNames(const SessionNames&) = delete;
  SessionNames& operator=(const SessionNames&) = delete;

  SourceMap& sources() override;
  Interner& interner() override;
  Builtins& builtins() override;
  const Library& library() const override;
  std::vector<ast::Variable*> variables() const override;
  ast::Variable* variable(Name name) const override;
  const Value* value(Name variable) const override;
  uint32_t add_source(std::string name, std::string text, const std::string& path) override;
  uint32_t add_module(const std::string& path, bool is_file, uint32_t importing_source) override;
  std::vector<std::string> folder_entries(const std::string& folder) const override;

 private:
  Engine& engine_;
  std::vector<uint32_t> added_;
};

}  // namespace tsl
