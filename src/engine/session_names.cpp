#include "engine/session_names.h"

#include "engine/engine.h"
#include "engine/library.h"
#include "engine/modules.h"
#include "engine/prompt.h"

namespace tsl {

SessionNames::~SessionNames() {
  for (const uint32_t source : added_) engine_.modules().forget_source(source);
}

SourceMap& SessionNames::sources() { return engine_.sources(); }
Interner& SessionNames::interner() { return engine_.names(); }
Builtins& SessionNames::builtins() { return engine_.builtins(); }
const Library& SessionNames::library() const { return standard_library(); }
std::vector<ast::Variable*> SessionNames::variables() const { return engine_.prompt().variables(); }
ast::Variable* SessionNames::variable(Name name) const { return engine_.prompt().variable(name); }
const Value* SessionNames::value(Name variable) const { return engine_.prompt().find(variable); }

uint32_t SessionNames::add_source(std::string name, std::string text, const std::string& path) {
  added_.push_back(engine_.modules().add_source(std::move(name), std::move(text), path));
  return added_.back();
}

uint32_t SessionNames::add_module(const std::string& path, bool is_file, uint32_t importing_source) {
  added_.push_back(engine_.modules().add_import(path, is_file, importing_source));
  return added_.back();
}

std::vector<std::string> SessionNames::folder_entries(const std::string& folder) const {
  return engine_.permissions().files ? analysis::list_folder(folder) : std::vector<std::string>();
}

}  // namespace tsl
