#include "analysis/program_names.h"

#include <algorithm>
#include <filesystem>

#include "syntax/tree_walk.h"

namespace tsl::analysis {

using ast::as;

namespace {

std::string without_links(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : real.string();
}

/// Calls body(import) for the imports of a tree.
template <class Body> void for_each_import(const ast::Module& module, Body&& body) {
  const auto at_statement = [&](const ast::Stmt& statement, bool) {
    if (statement.kind == ast::StmtKind::import) body(as<ast::ImportStmt>(statement));
  };
  walk_tree(*module.main, {at_statement, [](const ast::Expr&, bool) {}});
}

/// What a file's names mean in others.
class Importer {
 public:
  Importer(Names& names, const FileText& file) : names_(names), file_(file) {
    for_each_import(*file.tree, [this](const ast::ImportStmt& import) {
      const std::optional<FileText> from = imported_file(names_, file_, import);
      if (!from) return;
      if (import.variable) modules_.emplace_back(import.variable, *from);
      for (const ast::ImportedName& item : import.names) items_.emplace_back(&item, *from);
    });
  }

  /// Returns the shared name that a variable of the file stands for.
  std::optional<SharedName> of_variable(const ast::Variable* variable) const {
    for (const auto& [item, from] : items_) {
      if (item->variable == variable) return SharedName{from.path, item->name};
    }
    const bool is_shared = variable && variable->is_exported && variable->owner == file_.tree->main;
    if (!is_shared) return {};
    return SharedName{file_.path, variable->name};
  }
  /// Returns the one behind the dot of a module.
  std::optional<SharedName> of_field(const ast::FieldExpr& e) const {
    if (e.object->kind != ast::ExprKind::name) return {};
    for (const auto& [variable, from] : modules_) {
      if (variable == as<ast::NameExpr>(*e.object).variable) return SharedName{from.path, e.field};
    }
    return {};
  }

  /// Calls body(span, shared name, is it another name there) for each place that names one.
  template <class Body> void each_place(Body&& body) const {
    for (const ast::Variable* variable : file_.tree->main->variables) {
      if (!is_imported(variable)) report(variable->span, of_variable(variable), false, body);
    }
    for (const auto& [item, from] : items_) {
      const SharedName shared{from.path, item->name};
      const Span at = item->span;
      report({at.source, at.begin, at.begin + static_cast<uint32_t>(item->name->size())}, shared, false, body);
      if (item->variable->name != item->name) report(item->variable->span, shared, true, body);
    }
    const auto at_expression = [&](const ast::Expr& e, bool) {
      if (e.kind == ast::ExprKind::field)
        report(as<ast::FieldExpr>(e).field_span, of_field(as<ast::FieldExpr>(e)), false, body);
      if (e.kind != ast::ExprKind::name) return;
      const std::optional<SharedName> shared = of_variable(as<ast::NameExpr>(e).variable);
      if (shared) report(e.span, shared, as<ast::NameExpr>(e).name != shared->name, body);
    };
    walk_tree(*file_.tree->main, {[](const ast::Stmt&, bool) {}, at_expression});
  }

 private:
  bool is_imported(const ast::Variable* variable) const {
    return std::any_of(items_.begin(), items_.end(),
                       [&](const auto& each) { return each.first->variable == variable; });
  }
  template <class Body>
  void report(Span span, const std::optional<SharedName>& shared, bool is_renamed, Body& body) const {
    if (shared && span.valid()) body(names_.span_in_text(span), *shared, is_renamed);
  }

  Names& names_;
  const FileText& file_;
  std::vector<std::pair<const ast::Variable*, FileText>> modules_;
  std::vector<std::pair<const ast::ImportedName*, FileText>> items_;
};

/// Follows a name that a file imports to the one that declares it.
SharedName declared(Names& names, SharedName shared, const FileText& asking) {
  constexpr int kMostSteps = 16;
  std::vector<FileText> files = with_imports(names, {asking});
  for (int step = 0; step < kMostSteps; ++step) {
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const FileText& f) { return f.path == shared.file; });
    if (file == files.end()) break;
    const Importer importer(names, *file);
    const auto& variables = file->tree->main->variables;
    const auto variable = std::find_if(variables.begin(), variables.end(),
                                       [&](const ast::Variable* v) { return v->name == shared.name; });
    const std::optional<SharedName> next = variable == variables.end() ? std::nullopt : importer.of_variable(*variable);
    if (!next || *next == shared) break;
    shared = *next;
  }
  return shared;
}

}  // namespace

std::optional<FileText> imported_file(Names& names, const FileText& importer, const ast::ImportStmt& import) {
  try {
    const auto tree = read_module(names, *import.path, import.is_file, importer.tree->source);
    const Source& source = names.sources().get(tree->source);
    if (is_library_source(source.name())) return {};
    return FileText{without_links(source.name()), source.text(), tree};
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    return {};
  }
}

std::vector<FileText> with_imports(Names& names, std::vector<FileText> files) {
  for (size_t i = 0; i < files.size(); ++i) {  // which grows
    const FileText file = files[i];
    for_each_import(*file.tree, [&](const ast::ImportStmt& import) {
      std::optional<FileText> found = imported_file(names, file, import);
      const auto is_it = [&](const FileText& other) { return other.path == found->path; };
      if (found && std::none_of(files.begin(), files.end(), is_it)) files.push_back(std::move(*found));
    });
  }
  return files;
}

std::vector<FileText> with_neighbours(Names& names, std::vector<FileText> files, const SharedName& shared) {
  constexpr size_t kMostNeighbours = 1000;
  constexpr std::string_view kEnding = ".tsl";
  const auto declaring = std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.path == shared.file; });
  if (declaring == files.end()) return files;
  const std::filesystem::path folder = std::filesystem::path(shared.file).parent_path();
  const std::string stem = std::filesystem::path(shared.file).stem().string();  // which imports of it name
  const uint32_t source = declaring->tree->source;
  size_t left = kMostNeighbours;
  for (const std::string& entry : names.folder_entries(folder.string())) {
    const std::string path = (folder / entry).string();
    const bool is_known = std::any_of(files.begin(), files.end(), [&](const auto& f) { return f.path == path; });
    if (!entry.ends_with(kEnding) || is_known || left-- == 0) continue;
    try {
      const uint32_t neighbour = names.add_module("./" + entry, true, source);
      const std::string& text = names.sources().get(neighbour).text();
      const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
      if (!has("import") || !has(stem) || !has(*shared.name)) continue;
      const auto tree = read_module(names, "./" + entry, true, source);
      files.push_back({path, names.sources().get(tree->source).text(), tree});
    } catch (const Failure& failure) {
      if (failure.error().is_final) throw;  // others have errors of their own
    }
  }
  return files;
}

std::optional<SharedName> shared_name_at(Names& names, const FileText& file, size_t offset) {
  std::optional<SharedName> found;
  Importer(names, file).each_place([&](Span span, const SharedName& shared, bool is_renamed) {
    if (!is_renamed && span.begin <= offset && offset < span.end) found = shared;
  });
  return found ? std::optional(declared(names, *found, file)) : std::nullopt;
}

std::optional<Span> declaration_of(const Names& names, const FileText& file, Name name) {
  for (const ast::Variable* variable : file.tree->main->variables) {
    if (variable->name == name && variable->is_exported) return names.span_in_text(variable->span);
  }
  return {};
}

std::vector<Span> places_of(Names& names, const FileText& file, const SharedName& shared) {
  std::vector<Span> places;
  Importer(names, file).each_place([&](Span span, const SharedName& each, bool is_renamed) {
    if (!is_renamed && each.name == shared.name && declared(names, each, file) == shared) places.push_back(span);
  });
  std::sort(places.begin(), places.end(), [](Span a, Span b) { return a.begin < b.begin; });
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace tsl::analysis
