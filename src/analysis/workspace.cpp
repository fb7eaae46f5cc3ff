#include "analysis/workspace.h"

#include "analysis/declared_values.h"
#include "base/error_names.h"
#include "syntax/unicode.h"

namespace tsl::analysis {

Workspace::Workspace(const Library& library, FindModule find_module)
    : library_(library),
      find_module_(std::move(find_module)),
      builtins_(interner_, library, [this](const LibrarySource& source) { return read_prelude(source); }) {}

uint32_t Workspace::add_source(std::string name, std::string text, const std::string& path) {
  const std::string key = name;
  return add(key, std::move(name), std::move(text), path);
}

/// Adds a source in place of the one that has this key, unless its text is the same.
uint32_t Workspace::add(const std::string& key, std::string name, std::string text, const std::string& path) {
  const auto [at, is_new] = current_.try_emplace(key);
  if (!is_new) {
    if (sources_.get(at->second).text() == text) return at->second;
    sources_.forget(at->second);
    modules_.erase(at->second);
    source_paths_.erase(at->second);
  }
  at->second = sources_.add(std::move(name), std::move(text));
  if (!path.empty()) source_paths_[at->second] = path;
  return at->second;
}

uint32_t Workspace::add_module(const std::string& path, bool is_file, uint32_t importing_source) {
  const std::string importing_name = sources_.get(importing_source).name();
  if (std::optional<ModuleSource> ours = library_module(library_, path, is_file, importing_name))
    return add("import " + ours->name, ours->name, std::move(ours->text), "");
  if (!find_module_) fail(ErrorName::module_not_found, "cannot find module '{}'", path);
  const auto importer = source_paths_.find(importing_source);
  ModuleSource found = find_module_(path, is_file, importer == source_paths_.end() ? "" : importer->second);
  return add("import " + found.name, found.name, std::move(found.text), found.name);
}

ReadText Workspace::read_text(const std::string& name, const std::string& text, const std::string& path) {
  if (!expects_edits_ || find_invalid_utf8(text) != std::string_view::npos) return Names::read_text(name, text, path);
  const uint32_t whole = add_source(name, text, path);
  return texts_[path].read(*this, whole, text);
}

void Workspace::forget_text(const std::string& path) {
  const auto text = texts_.find(path);
  if (text == texts_.end()) return;
  text->second.forget(sources_);
  texts_.erase(text);
}

Span Workspace::span_in_text(Span span) const {
  for (const auto& [path, text] : texts_) {
    const Span place = text.span_in_text(span);
    if (place != span) return place;
  }
  return span;
}

std::shared_ptr<const ast::Module>* Workspace::kept_tree(uint32_t source) {
  return expects_edits_ ? &modules_[source] : nullptr;
}

Ref<Module> Workspace::read_prelude(const LibrarySource& part) {
  const uint32_t source = sources_.add(fmt::format("<stdlib>/{}.tsl", part.name), std::string(part.text));
  const auto tree = parse_resolved(sources_, source, interner_, resolve_options(builtins_, library_));
  return declared_module(*tree, std::string(part.name), builtins_);
}

}  // namespace tsl::analysis
