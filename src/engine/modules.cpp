#include "engine/modules.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error_names.h"
#include "bytecode/exports.h"
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
  if (path.find('\0') != std::string::npos)
    fail(ErrorName::file_not_found, "cannot read {}: its name has a character NUL", path);
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
  const std::string importer = engine_.sources().get(importing_source).name();
  if (std::optional<ModuleSource> ours = analysis::library_module(standard_library(), path, is_file, importer))
    return std::move(*ours);
  if (engine_.load_module) {
    engine_.runtime().abort_trace("it asks the host for a module");
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
  const std::string file = analysis::is_library_source(found.name) ? "" : found.name;
  return add_source(std::move(found.name), std::move(found.text), file);
}

namespace {

bool contains(const std::vector<uint32_t>& sources, uint32_t source) {
  return std::find(sources.begin(), sources.end(), source) != sources.end();
}

void add_sources(std::vector<uint32_t>& to, const Error& error) {
  to.push_back(error.span.source);
  for (const CallSite& call : error.called_from) {
    if (!contains(to, call.span.source)) to.push_back(call.span.source);
  }
  for (const RelatedPlace& place : error.related) to.push_back(place.span.source);
  for (const Error& other : error.others) add_sources(to, other);
}

}  // namespace

void ModuleLoader::forget_source(uint32_t source) {
  if (contains(last_error_, source)) {
    forgotten_.push_back(source);
    return;
  }
  engine_.sources().forget(source);
  folders_.erase(source);
  names_.erase(source);
}

void ModuleLoader::keep_sources_of(const Error& error) {
  last_error_.clear();
  add_sources(last_error_, error);
  for (const uint32_t source : std::exchange(forgotten_, {})) forget_source(source);
}

ModuleLoader::Tree ModuleLoader::read(std::string name, std::string text, const std::string& path,
                                      TextNames::Lifetime lifetime, const Predeclared& predeclared) {
  const exec::ActivityScope scope(engine_.timeline(), exec::ActivityKind::parse);
  const bool is_ours = analysis::is_library_source(name);  // small: its tree is not counted
  const uint32_t source = add_source(std::move(name), std::move(text), path);
  try {
    const auto names = std::make_shared<TextNames>(engine_.names(), lifetime, !is_ours);
    std::unique_ptr<ast::Module> module =
        parse_resolved(engine_.sources(), source, *names,
                       analysis::resolve_options(engine_.builtins(), standard_library(), predeclared));
    if (lifetime == TextNames::Lifetime::held) names_[source] = names;
    return {module.release(), [names](const ast::Module* tree) { delete tree; }};
  } catch (const Failure& failure) {
    keep_sources_of(failure.error());
    forget_source(source);
    throw;
  } catch (...) {
    forget_source(source);
    throw;
  }
}

ModuleLoader::Tree ModuleLoader::read_program(std::string name, std::string text, const std::string& path,
                                              TextNames::Lifetime names) {
  Tree module = read(std::move(name), std::move(text), path, names);
  const auto has_effect = [this](Name n) { return engine_.builtins().has_effect(n); };
  for (Error& warning : find_unused_values(*module, has_effect)) engine_.warn(std::move(warning));
  return module;
}

ModuleLoader::Tree ModuleLoader::read_entry(std::string name, std::string text, const std::string& path,
                                            const Predeclared& predeclared) {
  Tree module = read(std::move(name), std::move(text), path, TextNames::Lifetime::held, predeclared);
  const auto has_effect = [this](Name n) { return engine_.builtins().has_effect(n); };
  for (Error& warning : find_unused_values_of_entry(*module, has_effect)) engine_.warn(std::move(warning));
  return module;
}

Ref<Code> ModuleLoader::to_code(const ast::Module& module, const CompileOptions& options, VariableCells& cells,
                                Name name) {
  const exec::ActivityScope scope(engine_.timeline(), exec::ActivityKind::parse);
  CompileOptions with_text = options;
  const Source& source = engine_.sources().get(module.source);
  with_text.text = source.text();
  with_text.name = source.name();
  const bool may_stop = !options.is_library && source.text().find("breakpoint(") != std::string::npos;
  with_text.keeps_variables = may_stop || engine_.options().stops_at_errors;
  std::unique_ptr<Proto> main = compile(engine_.builtins(), module, with_text, cells);
  main->name = name;
  if (engine_.runtime().logs("bytecode")) engine_.runtime().log("bytecode", disassemble(*main, engine_.sources()));
  return engine_.interpreter().code().add(std::move(main), module.source, source.text().size());
}

bool ModuleLoader::keeps_code() const { return engine_.options().record || engine_.timeline(); }

void ModuleLoader::free_unused_code() {
  Interpreter& interpreter = engine_.interpreter();
  if (interpreter.depth() > 0 || !interpreter.code().is_due() || keeps_code()) return;
  for (const uint32_t source : interpreter.free_unused_code()) forget_source(source);
}

bool ModuleLoader::may_repeat_code() const {
  constexpr uint64_t kLeastBytes = 1 << 20;
  const EngineOptions& options = engine_.options();
  const uint64_t limit = options.limits.host_bytes;
  return !keeps_code() && !options.compile_all && !options.stops_at_errors && options.log_topics.empty() &&
         (limit == 0 || limit >= kLeastBytes);
}

Value ModuleLoader::run_again(Ref<Code> code) {
  free_unused_code();
  try {
    return engine_.interpreter().run_module(code, false);
  } catch (const Failure& failure) {
    keep_sources_of(failure.error());
    throw;
  }
}

void ModuleLoader::release_code(Ref<Code> code) {
  const uint32_t source = code->source;
  if (engine_.interpreter().release(std::move(code))) forget_source(source);
}

Value ModuleLoader::run(const ast::Module& module, const CompileOptions& options, VariableCells& cells, Name name,
                        Ref<Code>* kept) {
  free_unused_code();
  Interpreter& interpreter = engine_.interpreter();
  Ref<Code> code;
  const auto release = [&] {
    const bool is_kept = code && (!code->main->functions.empty() || keeps_code() || engine_.recording() ||
                                  !interpreter.release(std::move(code)));
    if (!is_kept) forget_source(module.source);
  };
  try {
    code = to_code(module, options, cells, name);
    Value result = interpreter.run_module(code, engine_.options().compile_all);
    if (kept && code->main->functions.empty()) *kept = std::move(code);
    else release();
    return result;
  } catch (const Failure& failure) {
    keep_sources_of(failure.error());
    release();
    throw;
  } catch (...) {
    release();
    throw;
  }
}

Value ModuleLoader::run_script(std::string name, std::string text, const std::string& path) {
  // A program that calls explain() is recorded from its start; others do not pay for that.
  if (text.find("explain(") != std::string::npos) engine_.start_recording();
  Pushed loading(loading_, {path.empty() ? "" : canonical_path(path), name});
  const Tree module = read_program(std::move(name), std::move(text), path, TextNames::Lifetime::held);
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
  const bool is_ours = analysis::is_library_source(found.name);
  constexpr auto kNames = TextNames::Lifetime::permanent;  // as its exports
  const Tree tree =
      is_ours ? read(found.name, found.text, "", kNames) : read_program(found.name, found.text, found.name, kNames);
  VariableCells cells;
  run(*tree, {true, is_internal, is_ours}, cells, engine_.names().intern(name));
  return loaded_[found.key] = make_module(*tree, cells, name);
}

Value ModuleLoader::import(Name path, bool is_file, uint32_t importing_source) {
  const ModuleSource found = find(*path, is_file, importing_source);
  const bool is_internal = found.name.starts_with("<stdlib>/prelude/");  // one part of the prelude imports another
  return Value(load(found, is_file ? fs::path(*path).stem().string() : *path, is_internal));
}

void ModuleLoader::forget_files() {
  std::erase_if(loaded_, [](const auto& entry) { return entry.first.front() != '<'; });  // "<nn>": embedded
}

Ref<Module> ModuleLoader::load_prelude(const LibrarySource& source) {
  return load({fmt::format("<{}>", source.name), fmt::format("<stdlib>/{}.tsl", source.name), std::string(source.text)},
              std::string(source.name), true);
}

}  // namespace tsl
