#include "engine/modules.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error_names.h"
#include "engine/engine.h"
#include "engine/library.h"
#include "engine/module_files.h"
#include "exec/devices.h"
#include "exec/timeline.h"
#include "syntax/parser.h"
#include "value/runtime.h"
#include "vm/interpreter.h"

namespace tsl {

namespace fs = std::filesystem;

namespace {

/// Whether a source of that name is a part of the standard library.
bool is_library(std::string_view name) { return name.substr(0, 9) == "<stdlib>/"; }

/// Pushes an entry onto a stack, and pops it when the module has been loaded or has failed.
template <class T> class Pushed {
 public:
  Pushed(std::vector<T>& stack, T item) : stack_(stack) { stack_.push_back(std::move(item)); }
  ~Pushed() { stack_.pop_back(); }
  Pushed(const Pushed&) = delete;
  Pushed& operator=(const Pushed&) = delete;

 private:
  std::vector<T>& stack_;
};

}  // namespace

std::string ModuleLoader::read_file(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) fail(ErrorName::cannot_read_file, "cannot read {}: it is a folder", path);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(errno == ENOENT ? ErrorName::file_not_found : ErrorName::cannot_read_file, "cannot read {}: {}", path,
         std::strerror(errno));
  return read_stream(file, path);
}

std::string ModuleLoader::read_stream(std::istream& stream, const std::string& name) {
  constexpr size_t kMaxSource = size_t{256} << 20;  // spans have 32 bits, and some files, such as /dev/zero, never end
  std::string text;
  char piece[1 << 16];
  while (stream.read(piece, sizeof piece), stream.gcount() > 0) {
    text.append(piece, static_cast<size_t>(stream.gcount()));
    if (text.size() > kMaxSource) fail(ErrorName::source_too_large, "cannot read {}: a source may take 256 MiB", name);
  }
  if (stream.bad()) fail(ErrorName::cannot_read_file, "cannot read {}", name);
  return text;
}

// ---- Finding -------------------------------------------------------------------------------------------

ModuleSource ModuleLoader::find(const std::string& path, bool is_file, uint32_t importing_source) const {
  if (!is_file) {
    if (std::optional<ModuleSource> ours = analysis::library_module(standard_library(), path)) return std::move(*ours);
  }
  if (engine_.load_module) {
    engine_.runtime().abort_trace("it asks the host for a module");
    const std::string importer = engine_.sources().get(importing_source).name();
    if (std::optional<std::string> text = engine_.load_module(path, importer))
      return {fmt::format("<host>/{}", path), path, std::move(*text)};
  }
  require_permission(engine_.permissions().files,
                     fmt::format("files, and the standard library has no module '{}'", path));
  // A trace has no guard for which files exist.
  engine_.runtime().abort_trace("it looks for a module's file");
  const auto folder = folders_.find(importing_source);
  return find_module_file(path, is_file, folder == folders_.end() ? "" : folder->second,
                          engine_.permissions().environment);
}

// ---- Loading -------------------------------------------------------------------------------------------

uint32_t ModuleLoader::add_source(std::string name, std::string text, const std::string& path) {
  const uint32_t source = engine_.sources().add(std::move(name), std::move(text));
  if (!path.empty()) folders_[source] = fs::path(path).parent_path().string();
  return source;
}

uint32_t ModuleLoader::add_import(const std::string& path, bool is_file, uint32_t importing_source) {
  ModuleSource found = find(path, is_file, importing_source);
  const std::string file = is_library(found.name) ? "" : found.name;
  return add_source(std::move(found.name), std::move(found.text), file);
}

void ModuleLoader::forget_source(uint32_t source) {
  engine_.sources().forget(source);
  folders_.erase(source);
}

std::unique_ptr<ast::Module> ModuleLoader::read(std::string name, std::string text, const std::string& path,
                                                const std::vector<ast::Variable*>& predeclared) {
  const exec::ActivityScope scope(engine_.timeline(), exec::ActivityKind::parse);
  const uint32_t source = add_source(std::move(name), std::move(text), path);
  try {
    return parse_resolved(engine_.sources(), source, engine_.names(),
                          analysis::resolve_options(engine_.builtins(), standard_library(), predeclared));
  } catch (...) {
    if (refused_source_ > 0) forget_source(refused_source_);
    refused_source_ = source;  // until the next one: its error is about to be shown
    throw;
  }
}

std::unique_ptr<ast::Module> ModuleLoader::read_program(std::string name, std::string text, const std::string& path) {
  std::unique_ptr<ast::Module> module = read(std::move(name), std::move(text), path);
  const auto has_effect = [this](Name n) { return engine_.builtins().has_effect(n); };
  for (Error& warning : find_unused_values(*module, has_effect)) engine_.warn(std::move(warning));
  return module;
}

std::unique_ptr<ast::Module> ModuleLoader::read_entry(std::string name, std::string text, const std::string& path,
                                                      const std::vector<ast::Variable*>& predeclared) {
  std::unique_ptr<ast::Module> module = read(std::move(name), std::move(text), path, predeclared);
  const auto has_effect = [this](Name n) { return engine_.builtins().has_effect(n); };
  for (Error& warning : find_unused_values_of_entry(*module, has_effect)) engine_.warn(std::move(warning));
  return module;
}

std::unique_ptr<Proto> ModuleLoader::to_bytecode(const ast::Module& module, const CompileOptions& options,
                                                 VariableCells& cells) {
  const exec::ActivityScope scope(engine_.timeline(), exec::ActivityKind::parse);
  CompileOptions with_text = options;
  const Source& source = engine_.sources().get(module.source);
  with_text.text = source.text();
  with_text.name = source.name();
  return compile(engine_.builtins(), module, with_text, cells);
}

namespace {

/// Releases the code of a module at the end of its run, unless its functions or regions refer to it.
class CodeOfRun {
 public:
  CodeOfRun(Engine& engine, std::unique_ptr<Proto> proto, bool* is_kept)
      : engine_(engine), proto_(engine.interpreter().own(std::move(proto))), is_kept_(is_kept) {}
  ~CodeOfRun() {
    const bool has_regions = engine_.options().compile_all && !proto_.loops.empty();
    if (has_regions || !proto_.functions.empty() || engine_.recording() || engine_.timeline()) return;
    engine_.interpreter().release(proto_);
    if (is_kept_) *is_kept_ = false;
  }
  CodeOfRun(const CodeOfRun&) = delete;
  CodeOfRun& operator=(const CodeOfRun&) = delete;
  const Proto& proto() const { return proto_; }

 private:
  Engine& engine_;
  const Proto& proto_;
  bool* const is_kept_;
};

}  // namespace

Value ModuleLoader::run(const ast::Module& module, const CompileOptions& options, VariableCells& cells, Name name,
                        bool* is_kept) {
  std::unique_ptr<Proto> compiled = to_bytecode(module, options, cells);
  compiled->name = name;
  const CodeOfRun code(engine_, std::move(compiled), is_kept);
  const Proto& proto = code.proto();
  if (engine_.runtime().logs("bytecode")) engine_.runtime().log("bytecode", disassemble(proto, engine_.sources()));
  return engine_.interpreter().run_module(proto, engine_.options().compile_all);
}

Value ModuleLoader::run_script(std::string name, std::string text, const std::string& path) {
  // A program that calls explain() is recorded from its start; others do not pay for that.
  if (text.find("explain(") != std::string::npos) engine_.start_recording();
  Pushed loading(loading_, {path.empty() ? "" : canonical_path(path), name});
  const std::unique_ptr<ast::Module> module = read_program(std::move(name), std::move(text), path);
  VariableCells cells;
  exec::DeferredErrors& errors = engine_.devices().deferred_errors();
  try {
    Value result = run(*module, {}, cells);
    errors.flush();
    return result;
  } catch (const Failure&) {
    errors.flush();  // an error that comes first in the program
    throw;
  }
}

Ref<Module> ModuleLoader::load(const ModuleSource& found, const std::string& name, bool is_internal) {
  const auto known = loaded_.find(found.key);
  if (known != loaded_.end()) return known->second;
  std::string chain;
  for (const auto& [key, shown] : loading_) {
    if (key == found.key || !chain.empty()) chain += shown + " → ";
  }
  if (!chain.empty()) fail(ErrorName::import_cycle, "modules import one another in a circle: {}{}", chain, found.name);

  // A module runs once, even if a trace is discarded. The prelude only declares functions.
  if (!is_internal) engine_.runtime().abort_trace("it imports a module");
  const TracingPause pause(engine_.runtime());
  Pushed loading(loading_, {found.key, found.name});
  const bool is_ours = is_library(found.name);
  const std::unique_ptr<ast::Module> tree =
      is_ours ? read(found.name, found.text, "") : read_program(found.name, found.text, found.name);
  VariableCells cells;
  run(*tree, {true, is_internal, is_ours}, cells, engine_.names().intern(name));
  Ref<Module> module = make_ref<Module>();
  module->name = name;
  module->doc = tree->doc;
  for (const ast::Variable* v : tree->main->variables) {
    if (v->is_exported) module->exports.emplace_back(v->name, cells.at(v));
  }
  loaded_[found.key] = module;
  return module;
}

Value ModuleLoader::import(Name path, bool is_file, uint32_t importing_source) {
  const ModuleSource found = find(*path, is_file, importing_source);
  return Value(load(found, is_file ? fs::path(*path).stem().string() : *path, false));
}

void ModuleLoader::forget_files() {
  std::erase_if(loaded_, [](const auto& entry) { return entry.first.front() != '<'; });  // "<nn>": embedded
}

Ref<Module> ModuleLoader::load_prelude(const LibrarySource& source) {
  return load({fmt::format("<{}>", source.name), fmt::format("<stdlib>/{}.tsl", source.name), std::string(source.text)},
              std::string(source.name), true);
}

}  // namespace tsl
