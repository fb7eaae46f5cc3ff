#include "inference/sketch.h"

#include <algorithm>
#include <filesystem>

#include "bytecode/exports.h"
#include "syntax/parser.h"

namespace tsl::inference {

namespace {

constexpr uint64_t kStepsOfCall = 20'000, kStepsOfAnalysis = 400'000;
constexpr uint64_t kHostBytes = uint64_t{64} << 20;

Value call_user_function(Context& context, Args args) {
  return static_cast<Sketch&>(context).call_user(args.callee->bound[0].as<Function>(), args.values);
}

/// The row of all functions of a text; each is bound to its own.
constexpr Builtin kUserFunction = {.name = "function",
                                   .signature = "function(...values: any)",
                                   .doc = "",
                                   .function = call_user_function,
                                   .family = "host",
                                   .forwards = true};

constexpr Permissions kNothing = {.files = false, .environment = false, .clock = false, .gpus = false, .input = false};

}  // namespace

Sketch::Sketch(const Library& library)
    : Context(kNothing),
      library_(library),
      interpreter_(*this),
      runtime_(*this, interpreter_),
      builtins_(names(), library, [this](const LibrarySource& part) {
        return load({fmt::format("<{}>", part.name), fmt::format("<stdlib>/{}.tsl", part.name), std::string(part.text)},
                    std::string(part.name), true);
      }) {
  interpreter_.connect(runtime_);
  connect(runtime_, runtime_, builtins_);
  watch.limit_host_bytes(kHostBytes);
}

void Sketch::begin() {
  runtime_.begin();
  steps_left_ = kStepsOfAnalysis;
}

Value Sketch::callable(Ref<Function> function) const {
  Ref<BuiltinFunction> made = make_ref<BuiltinFunction>();
  made->builtin = &kUserFunction;
  made->bound.push_back(Value(std::move(function)));
  made->has_state = true;
  return Value(std::move(made));
}

const Function* Sketch::user_function(const Value& value) {
  if (!value.is(Tag::builtin) || value.as<BuiltinFunction>().builtin != &kUserFunction) return nullptr;
  return &value.as<BuiltinFunction>().bound[0].as<Function>();
}

Value Sketch::call(const Value& callee, std::span<Value> args, const CallShape* shape) {
  if (interpreter_.depth() > 0) return interpreter_.call(callee, args, shape);
  if (steps_left_ == 0) not_known();
  const uint64_t limit = std::min(kStepsOfCall, steps_left_);
  interpreter_.set_step_limit(limit);
  struct Counted {
    Sketch& sketch;
    ~Counted() { sketch.steps_left_ -= std::min(sketch.steps_left_, sketch.interpreter_.steps() + 1); }
  } const counted{*this};
  return interpreter_.call(callee, args, shape);
}

// ---- Modules of the library ----------------------------------------------------------------------------

Value Sketch::import_library(const std::string& path) {
  const std::optional<ModuleSource> found = analysis::library_module(library_, path, false, "");
  return found ? Value(load(*found, path, false)) : Value::absent();
}

Value Sketch::import(Name path, bool is_file, uint32_t importing_source) {
  const std::string importer = sources().get(importing_source).name();
  const std::optional<ModuleSource> found = analysis::library_module(library_, *path, is_file, importer);
  if (!found) not_known();
  const bool is_internal = found->name.starts_with("<stdlib>/prelude/");
  return Value(load(*found, is_file ? std::filesystem::path(*path).stem().string() : *path, is_internal));
}

/// Runs a module of the library as an engine does.
Ref<Module> Sketch::load(const ModuleSource& found, const std::string& name, bool is_internal) {
  const auto known = loaded_.find(found.key);
  if (known != loaded_.end()) return known->second;
  const TracingPause pause(runtime_);
  const uint32_t source = sources().add(found.name, found.text);
  const std::unique_ptr<ast::Module> tree =
      parse_resolved(sources(), source, names(), analysis::resolve_options(builtins_, library_));
  VariableCells cells;
  const CompileOptions options{.export_cells = true,
                               .is_internal = is_internal,
                               .is_library = true,
                               .text = sources().get(source).text(),
                               .name = sources().get(source).name()};
  std::unique_ptr<Proto> main = compile(builtins_, *tree, options, cells);
  main->name = names().intern(name);
  interpreter_.run_module(interpreter_.code().add(std::move(main), source, found.text.size()), false);
  return loaded_[found.key] = make_module(*tree, cells, name);
}

}  // namespace tsl::inference
