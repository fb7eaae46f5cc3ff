#include "engine/prompt.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/modules.h"

namespace tsl {

Value Prompt::run(std::string text, const std::string& path, const std::string& given_name) {
  std::vector<ast::Variable*> predeclared;
  for (const auto& entry : visible_) predeclared.push_back(entry.second);  // the resolver looks them up, in no order
  const std::string name = !given_name.empty() ? given_name
                           : path.empty()      ? fmt::format("<prompt {}>", entries_.size() + 1)
                                               : path;
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

const Value* Prompt::find(Name name) const {
  const auto variable = visible_.find(name);
  return variable == visible_.end() ? nullptr : &cells_.at(variable->second)->value;
}

void Prompt::assign(Name name, Value value) {
  const auto known = visible_.find(name);
  if (known == visible_.end() || !cells_.at(known->second)->is_mutable) {
    const bool is_word = !name->empty() && std::all_of(name->begin(), name->end(), [](unsigned char c) {
      return c == '_' || std::isalnum(c) != 0;  // else the text below could be any program
    });
    if (!is_word) fail(ErrorKind::name, "'{}' is no name of a variable", *name);
    run(fmt::format("var {} = nil", *name), "", "<host>");
  }
  cells_.at(visible_.at(name))->value = std::move(value);
}

/// Makes the variables visible that the entry has set. Functions at its top level are set before anything runs.
void Prompt::publish(const ast::Module& entry) {
  for (ast::Variable* v : entry.main->variables) {
    const auto cell = cells_.find(v);
    if (v->is_exported && cell != cells_.end() && cell->second->is_set) visible_[v->name] = v;
  }
}

}  // namespace tsl
