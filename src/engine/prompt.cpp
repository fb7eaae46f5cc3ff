#include "engine/prompt.h"

#include <algorithm>
#include <cctype>

#include "base/error_names.h"
#include "engine/engine.h"
#include "engine/modules.h"

namespace tsl {

Value Prompt::run(std::string text, const std::string& path, const std::string& given_name) {
  const std::string name = !given_name.empty() ? given_name
                           : path.empty()      ? fmt::format("<prompt {}>", entries_ + 1)
                                               : path;
  if (given_name.empty()) ++entries_;
  const EntryCache::Key key = {given_name, text, reals_};
  const bool may_repeat = !given_name.empty() && path.empty() && engine_.modules().may_repeat_code();
  if (may_repeat) {
    if (Ref<Code> code = repeated_.find(key)) return engine_.modules().run_again(std::move(code));
  }
  const std::string kept_text = may_repeat && repeated_.is_repeated(key) ? text : "";
  const auto all = [this] {
    std::vector<std::string> texts;
    for (const Name each : names()) texts.push_back(*each);
    return texts;
  };
  const ModuleLoader::Tree entry =
      engine_.modules().read_entry(name, std::move(text), path, {[this](Name each) { return variable(each); }, all});
  const Value* const show = path.empty() && !show_.is_nil() ? &show_ : nullptr;
  const bool is_kept = !kept_text.empty() && !show && !entry->use && entry->main->variables.empty();
  const size_t changes = changes_;
  Ref<Code> code;
  Value value = run_entry(*entry, show, is_kept ? &code : nullptr);
  if (code && changes == changes_) code = repeated_.add({given_name, kept_text, reals_}, std::move(code));
  if (code) engine_.modules().release_code(std::move(code));  // that it has replaced, or whose names mean others now
  return value;
}

/// Forgets the code of repeated entries: their names may mean other variables from now on.
void Prompt::forget_code() {
  ++changes_;
  for (Ref<Code>& code : repeated_.take()) engine_.modules().release_code(std::move(code));
}

/// Runs an entry; `show` is as in CompileOptions. `kept` receives its code if it may run again.
Value Prompt::run_entry(const ast::Module& entry, const Value* show, Ref<Code>* kept) {
  CompileOptions options;
  options.export_cells = true;
  options.show = show;
  if (entry.use) reals_ = dtype_named(*entry.use).value_or(reals_);
  options.reals = reals_;
  try {
    const Value value = engine_.modules().run(entry, options, cells_, nullptr, kept);
    publish(entry);
    return value;
  } catch (...) {
    publish(entry);
    throw;
  }
}

const Value* Prompt::find(Name name) const {
  const auto variable = visible_.find(name);
  return variable == visible_.end() ? nullptr : &cells_.at(variable->second.variable.get())->value;
}

ast::Variable* Prompt::variable(Name name) const {
  const auto known = visible_.find(name);
  return known == visible_.end() ? nullptr : known->second.variable.get();
}

std::vector<ast::Variable*> Prompt::variables() const {
  std::vector<ast::Variable*> variables;
  for (const auto& entry : visible_) variables.push_back(entry.second.variable.get());
  return variables;
}

std::vector<Name> Prompt::names() const {
  std::vector<Name> names;
  for (const auto& entry : visible_) names.push_back(entry.first);
  std::sort(names.begin(), names.end(), [](Name a, Name b) { return *a < *b; });
  return names;
}

void Prompt::set_last(Value value) {
  const Name last = engine_.names().intern("_");
  if (!find(last)) {
    const ModuleLoader::Tree entry =
        engine_.modules().read("<prompt>", "let last = nil", "", TextNames::Lifetime::permanent);
    for (ast::Variable* v : entry->main->variables) v->name = last;  // programs cannot declare this name
    run_entry(*entry);
  }
  cells_.at(visible_.at(last).variable.get())->value = std::move(value);
}

void Prompt::reset() {
  forget_code();
  visible_.clear();
  cells_.clear();
  reals_ = DType::f32;
}

void Prompt::assign(Name name, Value value) {
  const auto known = visible_.find(name);
  if (known == visible_.end() || !cells_.at(known->second.variable.get())->is_mutable)
    return declare("var", name, std::move(value));
  cells_.at(known->second.variable.get())->value = std::move(value);
}

void Prompt::declare(Name name, Value value) { declare("let", name, std::move(value)); }

void Prompt::declare(const char* keyword, Name name, Value value) {
  const bool is_word = std::all_of(name->begin(), name->end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  if (!is_word || name->empty() || *name == "_")  // the text below could be any program, or declare nothing
    fail(ErrorName::malformed_name, "'{}' is no name of a variable", *name);
  run(fmt::format("{} {} = nil", keyword, *name), "", "<host>");
  cells_.at(visible_.at(name).variable.get())->value = std::move(value);
}

/// Makes the variables visible that the entry has set. Functions at its top level are set before anything runs. If
/// memory runs out, the others are published all the same: no key of cells_ may outlive the entry.
void Prompt::publish(const ast::Module& entry) {
  bool is_out_of_memory = false;
  for (const ast::Variable* v : entry.main->variables) {
    try {
      publish_variable(*v);
    } catch (const std::bad_alloc&) { is_out_of_memory = true; }
  }
  if (is_out_of_memory) throw std::bad_alloc();
}

/// Makes one variable visible, or changes nothing but cells_, which loses it.
void Prompt::publish_variable(const ast::Variable& variable) {
  VariableCells::node_type cell = cells_.extract(&variable);
  if (cell.empty() || !variable.is_exported || !cell.mapped()->is_set) return;
  forget_code();
  auto copy = std::make_unique<ast::Variable>(variable);
  copy->owner = nullptr;  // the entry's function, which goes
  Visible& visible = visible_[variable.name];
  // From here on nothing is allocated: the table has had this cell before.
  cells_.erase(visible.variable.get());
  cell.key() = copy.get();
  cells_.insert(std::move(cell));
  visible = {variable.name, std::move(copy)};
}

}  // namespace tsl
