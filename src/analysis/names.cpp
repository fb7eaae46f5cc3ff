#include "analysis/names.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "value/signature.h"

namespace tsl::analysis {

namespace fs = std::filesystem;

const Value* find_value(Names& names, Name name) {
  const Value* variable = names.value(name);
  return variable ? variable : names.builtins().find(name);
}

const Signature* signature_of(Names& names, const Value& callee) {
  if (callee.is(Tag::function)) return &callee.as<Function>().info->signature;
  return callee.is(Tag::builtin) ? &names.builtins().signature(callee.as<BuiltinFunction>()) : nullptr;
}

const Value* member_of(const Value& object, Name name) {
  if (object.is(Tag::record)) {
    const Value* field = object.as<Record>().find(name);
    return field && !field->is(Tag::absent) ? field : nullptr;
  }
  const Cell* cell = object.is(Tag::module) ? object.as<Module>().find(name) : nullptr;
  return cell && cell->is_set ? &cell->value : nullptr;
}

ResolveOptions resolve_options(const Builtins& builtins, const Library& library, Predeclared predeclared) {
  ResolveOptions options;
  options.is_builtin = [&builtins](Name name) { return builtins.contains(name); };
  options.builtin_names = [&builtins] { return builtins.names(); };
  options.is_module = [&library](Name name) { return library.module(*name) != nullptr; };
  options.predeclared = std::move(predeclared);
  return options;
}

ResolveOptions resolve_options(Names& names) {
  const auto all = [&names] {
    std::vector<std::string> texts;
    for (const ast::Variable* variable : names.variables()) texts.push_back(*variable->name);
    return texts;
  };
  return resolve_options(names.builtins(), names.library(),
                         {[&names](Name name) { return names.variable(name); }, all});
}

std::shared_ptr<const ast::Module> read_module(Names& names, const std::string& path, bool is_file,
                                               uint32_t importing_source) {
  const uint32_t source = names.add_module(path, is_file, importing_source);
  std::shared_ptr<const ast::Module>* const kept = names.kept_tree(source);
  if (kept && *kept) return *kept;
  std::shared_ptr<const ast::Module> tree =
      parse_resolved(names.sources(), source, names.interner(), resolve_options(names.builtins(), names.library()));
  if (kept) *kept = tree;
  return tree;
}

namespace {

constexpr std::string_view kLibraryFolder = "<stdlib>/";

/// Returns the name of the library's part that a file means beside an importing source of the library: "nn/losses".
std::string part_beside(const std::string& importer, const std::string& path) {
  const fs::path folder = fs::path(importer.substr(kLibraryFolder.size())).parent_path();
  return (folder / path).lexically_normal().replace_extension().generic_string();
}

/// Returns the library's part of that name, of the prelude too, or null.
const LibrarySource* part_of(const Library& library, const std::string& name) {
  const auto found = std::find_if(library.sources.begin(), library.sources.end(),
                                  [&](const LibrarySource& source) { return source.name == name; });
  return found == library.sources.end() ? nullptr : &*found;
}

}  // namespace

bool is_library_source(std::string_view name) { return name.starts_with(kLibraryFolder); }

std::optional<ModuleSource> library_module(const Library& library, const std::string& path, bool is_file,
                                           const std::string& importer) {
  if (is_file && !is_library_source(importer)) return std::nullopt;
  const std::string name = is_file ? part_beside(importer, path) : path;
  const LibrarySource* source = is_file ? part_of(library, name) : library.module(name);
  if (!source) return std::nullopt;
  return ModuleSource{fmt::format("<{}>", name), fmt::format("{}{}.tsl", kLibraryFolder, name),
                      std::string(source->text)};
}

std::vector<const ast::ImportStmt*> library_imports(Names& names, const ast::Module& module) {
  std::vector<const ast::ImportStmt*> found;
  if (!is_library_source(names.sources().get(module.source).name())) return found;
  for (const ast::Stmt* statement : module.main->body->statements) {
    if (statement->kind == ast::StmtKind::import) found.push_back(&ast::as<ast::ImportStmt>(*statement));
  }
  return found;
}

std::vector<std::string> list_folder(const std::string& folder) {
  std::vector<std::string> entries;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, failed)) {
    std::error_code ignored;
    const std::string name = entry.path().filename().string();
    entries.push_back(entry.is_directory(ignored) ? name + "/" : name);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace tsl::analysis
