#include "engine/prompt.h"

#include "engine/engine.h"
#include "engine/modules.h"

namespace tsl {

Value Prompt::run(std::string text, const std::string& path) {
  std::vector<ast::Variable*> predeclared;
  for (const auto& entry : visible_) predeclared.push_back(entry.second);
  const std::string name = path.empty() ? fmt::format("<prompt {}>", entries_.size() + 1) : path;
  entries_.push_back(engine_.modules().read(name, std::move(text), path, predeclared));
  const ast::Module& entry = *entries_.back();
  try {
    const Value value = engine_.modules().run(entry, {true, false}, cells_);
    publish(entry);
    return value;
  } catch (...) {
    publish(entry);
    throw;
  }
}

/// Makes the variables visible that the entry has set. Functions at its top level are set before anything runs.
void Prompt::publish(const ast::Module& entry) {
  for (ast::Variable* v : entry.main->variables) {
    const auto cell = cells_.find(v);
    if (v->is_exported && cell != cells_.end() && cell->second->is_set) visible_[v->name] = v;
  }
}

}  // namespace tsl
