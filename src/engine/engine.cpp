#include "engine/engine.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/error_names.h"
#include "bytecode/builtin_table.h"
#include "engine/library.h"
#include "engine/modules.h"
#include "engine/prompt.h"
#include "engine/runtime.h"
#include "tensor/device_names.h"
#include "value/format.h"
#include "value/text_builder.h"
#include "vm/interpreter.h"
#include "vm/progress.h"
#include "world/group.h"

namespace tsl {

namespace {

/// Runs `body`; a failure becomes final, so the program cannot catch it.
template <class Body> void fail_for_good(Body&& body) {
  try {
    body();
  } catch (Failure& failure) {
    failure.error().is_final = true;
    throw;
  }
}

}  // namespace

Engine::Engine(EngineOptions options)
    : Context(options.permissions),
      output([](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }),
      log([](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }),
      show_warning([this](const Error& warning) { log(render(warning, sources())); }),
      options_(std::move(options)) {
  interpreter_ = std::make_unique<Interpreter>(*this);
  runtime_ = std::make_unique<EngineRuntime>(*this, *interpreter_, options_);  // may log
  interpreter_->connect(*runtime_);
  if (options_.stops_at_errors) {
    options_.compile_all = options_.compile_annotated = false;
    runtime_->on_failure = [this](const Error& error) { stop(&error); };
  }
  modules_ = std::make_unique<ModuleLoader>(*this);
  builtins_ = std::make_unique<BuiltinTable>(
      names(), standard_library(), [this](const LibrarySource& source) { return modules_->load_prelude(source); });
  connect(*runtime_, *runtime_, *builtins_);
  prompt_ = std::make_unique<Prompt>(*this);
  runtime_->seed(options_.seed);
  watch.limit_host_bytes(options_.limits.host_bytes);
  if (options_.depth_limit > 0) interpreter_->set_depth_limit(options_.depth_limit);
}

Engine::~Engine() {
  runtime_->stop_profile();  // which samples the interpreter
}

template <class Sink, class Output> void Engine::write(const Sink& sink, const Output& text) {
  struct Writing {
    Engine& engine;
    const bool before = std::exchange(engine.is_writing_, true);
    ~Writing() {
      engine.is_writing_ = before;
      if (engine.runtime_) engine.runtime_->resume();
    }
  } const writing{*this};
  interpreter_->progress_line().hide();
  sink(text);
}

void Engine::enter() {
  if (is_writing_)
    fail(ErrorName::engine_busy, "the engine cannot run a program while it writes what another one prints or logs");
  runtime_->resume();
  runtime_->end_start_up();
}

void Engine::start_profile() { runtime_->start_profile(); }

std::string Engine::stop_profile(const std::string& title) {
  std::string json = profile_json(title);
  runtime_->stop_profile();
  return json;
}

bool Engine::is_profiling() const { return runtime_->profiling() != nullptr; }

bool Engine::is_running() const { return interpreter_->depth() > 0; }

std::string Engine::profile_text(const std::string& title, bool color, const report::TableOptions& table) {
  return runtime_->profiling()->text(title, color, table);
}

std::string Engine::profile_json(const std::string& title) { return runtime_->profiling()->json(title); }

std::string Engine::timings_text(const std::string& title) { return runtime_->profiling()->timings_text(title); }

void Engine::add_times(report::Recording& recording) { runtime_->profiling()->add_times(recording); }

std::string Engine::timeline_json() { return runtime_->profiling()->timeline_json(); }

std::string Engine::folded_stacks() { return runtime_->profiling()->folded_stacks(); }

void Engine::share_profile(const std::string& trace) {
  runtime_->profiling()->share(world::Group::of_process(), trace);
}

bool Engine::has_shared_trace() const { return runtime_->profiling()->has_shared_trace(); }

void Engine::write_trace(const std::string& path) { runtime_->profiling()->write_trace(path); }

exec::Devices& Engine::devices() { return runtime_->devices(); }

void Engine::set_default_device(std::string_view name) { runtime_->choose_device(parse_device(name)); }

exec::Timeline* Engine::timeline() { return runtime_->devices().timeline(); }

void Engine::print(const Value& value) {
  devices().deferred_errors().flush();
  const exec::ActivityScope scope(timeline(), exec::ActivityKind::output);
  TextBuilder line([this](std::string_view part) { fail_for_good([&] { write(output, part); }); });
  const auto add = [&] { add_string(line, *this, value); };
  if (value.is(Tag::lazy_string)) fail_for_good(add);  // what a plan prints cannot be caught
  else add();
  line += '\n';
  line.flush();
}

std::unique_ptr<Prompt> Engine::exchange_prompt(std::unique_ptr<Prompt> prompt) {
  return std::exchange(prompt_, std::move(prompt));
}

/// From the first stop on everything is interpreted, so that all variables can be looked at.
void Engine::stop(const Error* error) {
  if (!stopped || is_stopped_) return;
  options_.compile_all = options_.compile_annotated = false;
  options_.has_stopped = true;
  struct Stopped {
    bool& is_stopped;
    ~Stopped() { is_stopped = false; }
  } const until_it_goes_on{is_stopped_ = true};
  stopped(error);
}

void Engine::show_progress(std::function<void(std::string_view)> write) {
  ProgressLine& line = interpreter_->progress_line();
  line.write = std::move(write);
  watch.show_reading = [&line](std::string_view path, uint64_t done, uint64_t total) {
    constexpr double kMegabyte = 1e6;
    if (done == total) return line.hide();
    line.show(fmt::format("reading {}: {:.0f} of {:.0f} MB", path, static_cast<double>(done) / kMegabyte,
                          static_cast<double>(total) / kMegabyte));
  };
}

void Engine::write_log(std::string_view text) {
  fail_for_good([&] { write(log, text); });
}

void Engine::warn(Error warning) {
  if (options_.warnings == Warnings::off) return;
  devices().deferred_errors().flush();
  if (options_.warnings == Warnings::error) {
    warning.is_warning = false;
    warning.is_final = true;
    throw Failure(std::move(warning));
  }
  constexpr size_t kMostWarned = 1000;  // texts without end may warn
  if (warned_.size() >= kMostWarned) warned_.clear();
  if (!warned_.emplace(sources().location(warning.span), warning.message).second) return;
  fail_for_good([&] { write(show_warning, warning); });
}

Value Engine::run(std::string name, std::string text) {
  enter();
  const RunWatch::Scope scope(watch, options_.limits);
  return modules_->run_script(std::move(name), std::move(text), "");
}

Value Engine::run_line(std::string text, const std::string& path, const std::string& name) {
  enter();
  const RunWatch::Scope scope(watch, options_.limits);
  const RegionPause pause(*runtime_, interpreter_->depth() > 0);
  return prompt_->run(std::move(text), path, name);
}

Value Engine::run_file(const std::string& path) {
  enter();
  const RunWatch::Scope scope(watch, options_.limits);
  return modules_->run_script(path, ModuleLoader::read_file(path), path);
}

void Engine::start_recording() { runtime_->start_recording(); }

const report::Recording* Engine::recording() const {
  return runtime_->recorder() ? &runtime_->recorder()->recording() : nullptr;
}

const Value* Engine::find(std::string_view name) {
  const Name known = names().find(name);
  if (!known) return nullptr;
  const Value* variable = prompt_->find(known);
  return variable ? variable : builtins_->find(known);
}

void Engine::assign(std::string_view name, Value value) {
  enter();
  prompt_->assign(names().intern(std::string(name)), std::move(value));
}

void Engine::define(const Builtin& function) { builtins_->define(function); }

void Engine::define(const ForeignType& type) { builtins_->define(type); }

Value Engine::call_from_host(const Value& callee, std::span<Value> args, const CallShape* shape) {
  enter();
  const RunWatch::Scope scope(watch, options_.limits);
  const RegionPause pause(*runtime_, interpreter_->depth() > 0);
  try {
    return interpreter_->call(callee, args, shape);
  } catch (const Failure& failure) {
    modules_->keep_sources_of(failure.error());
    throw;
  }
}

Value Engine::call(const Value& callee, std::span<Value> args, const CallShape* shape) {
  if (is_writing_ || interpreter_->depth() == 0) enter();  // else a builtin calls back
  return interpreter_->call(callee, args, shape);
}

Value Engine::import(Name path, bool is_file, uint32_t importing_source) {
  return modules_->import(path, is_file, importing_source);
}

}  // namespace tsl
