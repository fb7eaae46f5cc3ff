// An Engine holds all state of one running TSL: sources, names, modules, memory, random state, options.
// Engines share nothing but the CPU backend's workers, so several may run in several threads; one engine belongs to one
// thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/memory.h"
#include "backend/cpu/threads.h"
#include "exec/backend_options.h"
#include "profile/table_options.h"
#include "tensor/tensor.h"
#include "value/context.h"
#include "value/value.h"

namespace tsl::exec {
class Backend;
class Devices;
class Timeline;
}  // namespace tsl::exec

namespace tsl::report {
struct Recording;
}  // namespace tsl::report

namespace tsl {

/// What happens to warnings: shown once for each line, or not, or raised as errors of the program.
enum class Warnings : uint8_t { on, off, error };

/// What is written about a run after it; run_reports.h writes it.
struct RunReports {
  bool timings = false;             // where the time for compiling went, as a table
  bool profile = false;             // what took how long, as tables
  std::string trace;                // the file for the profile as a Chrome trace, of all ranks; "": none
  std::string own_trace;            // of this rank, if the ranks end without a common one; "": `trace`
  std::string folded;               // the file for the interpreter's call paths as folded stacks; "": none
  std::string profile_json;         // the file for the profile as JSON; "": none
  std::string dump;                 // the folder for each stage of compiled code; "": none
  report::TableOptions table = {};  // of the profile
  bool needs_profile() const {
    return timings || profile || !trace.empty() || !folded.empty() || !profile_json.empty();
  }
};

/// How an engine runs. Those that a user or a host program may set have rows in option_table.h.
struct EngineOptions {
  bool compile_all = false;       // --compile: outermost calls and top-level loop bodies too
  bool compile_annotated = true;  // @compile functions (--no-compile turns it off)
  bool allows_compile = true;     // off: the host does not let code be compiled, and whoever asks for it is told
  /// Names what is compiled: "all", "annotated" or "nothing".
  const char* compiles() const { return compile_all ? "all" : compile_annotated ? "annotated" : "nothing"; }
  /// Says why nothing is compiled; "" if something may be.
  const char* why_not() const {
    return !allows_compile                    ? "the host does not let code be compiled"
           : check_nan                        ? "--check-nan runs everything op by op"
           : stops_at_errors                  ? "--on-error prompt interprets everything"
           : has_stopped                      ? "the program has stopped at a breakpoint, and is interpreted since"
           : compile_all || compile_annotated ? ""
                                              : "--no-compile is given";
  }
  std::string log_topics;  // "graph,fusion,…"
  Warnings warnings = Warnings::on;
  bool check_nan = false;   // --check-nan: interprets everything, op by op, and checks each result
  bool profile = false;     // record what takes time: see Engine::profile_text()
  size_t trace_events = 0;  // of these, the most events to keep for write_trace()
  uint64_t seed = 0;
  int threads = 0;     // 0: one per core
  std::string device;  // where tensors are made by default: "cpu", "cuda", "cuda:1"; "": the first GPU, else the CPU
  bool show_device = true;       // in displays of tensors outside host memory; off for equal output on all devices
  bool fast_numerics = false;    // compiled code need not round between ops (--numerics fast)
  exec::BackendOptions backend;  // for every device that the engine opens
  /// If set, opens every device except the CPU instead of the registered backends. For tests.
  std::function<std::unique_ptr<exec::Backend>(Device device, exec::Backend& host)> open_backend;
  /// --on-error prompt: interprets everything, and calls Engine::stopped for an error that nothing catches.
  bool stops_at_errors = false;
  bool has_stopped = false;  // at a breakpoint, and interprets everything since
  bool record = false;       // records what is compiled, for reports: Engine::recording()
  RunReports reports;        // need prepare_reports() before the engine is made
  std::vector<std::string> script_args;
  Permissions permissions;
  cpu::HostMemory host_memory;  // allocates tensors in host memory, if it is set
  cpu::Scheduler scheduler;     // runs loops of the CPU backend, if it is set
  RunLimits limits;             // of each run() and call() by the host program
  uint64_t element_limit = 0;   // of a tensor; 0: none
  uint32_t depth_limit = 0;     // calls within calls; 0: the interpreter's own
  /// Does not wait for a GPU where no `try` runs to learn whether an op has failed on its elements: the error is raised
  /// before anything else can be observed. The engine must run nothing after it, since variables have values from then.
  bool defer_errors = false;
};

struct Builtin;
class BuiltinTable;   // bytecode/builtin_table.h: builtins by name
class EngineRuntime;  // runtime.h: where ops go: eager, recorder, tapes
class Interpreter;    // interpreter.h: runs bytecode
class ModuleLoader;   // modules.h: finds and runs modules once
class Prompt;         // prompt.h: the state between prompt entries

class Engine final : public Context {
 public:
  explicit Engine(EngineOptions options = {});
  ~Engine() override;

  /// Runs text as a module and returns its last expression's value (nil if none). Throws Failure.
  Value run(std::string name, std::string text);
  /// Runs one prompt entry, in which names declared by earlier entries are visible. `path` is its file, if it has one;
  /// `name` stands for it in messages.
  Value run_line(std::string text, const std::string& path = "", const std::string& name = "");
  Value run_file(const std::string& path);
  /// Returns a variable that a prompt entry has declared, or a builtin; null if there is neither.
  const Value* find(std::string_view name);
  /// Assigns a variable of later prompt entries.
  void assign(std::string_view name, Value value);
  /// Adds a function of the host program, which must outlive the engine.
  void define(const Builtin& function);
  /// Adds a type of the host program's values, which must outlive them all.
  void define(const ForeignType& type);
  Value call(const Value& callee, std::span<Value> args, const CallShape* shape = nullptr) override;
  /// As call(), for the host program: limited, and also from a function of the host that a compiled one is calling.
  Value call_from_host(const Value& callee, std::span<Value> args, const CallShape* shape = nullptr);
  Value import(Name path, bool is_file, uint32_t importing_source) override;

  /// Records all that is compiled from now on.
  void start_recording();
  /// Returns what was compiled so far; null if that is not recorded.
  const report::Recording* recording() const;
  /// Begins a profile, or ends it and formats it as JSON. No program must be running; is_profiling() says which.
  void start_profile();
  std::string stop_profile(const std::string& title);
  bool is_profiling() const;
  bool is_running() const;
  /// Formats the profile so far as tables (EngineOptions::profile must be set).
  std::string profile_text(const std::string& title, bool color, const report::TableOptions& table = {});
  /// Formats the profile so far as JSON.
  std::string profile_json(const std::string& title);
  /// Formats where the time for compiling went so far.
  std::string timings_text(const std::string& title);
  /// Fills the times of what was recorded from the profile so far.
  void add_times(report::Recording& recording);
  /// Formats the first events of the profile as JSON, for explain_page().
  std::string timeline_json();
  /// Tells the other ranks about the profile, and writes one trace of all: see Profiling::share().
  void share_profile(const std::string& trace);
  bool has_shared_trace() const;
  /// Writes the profile so far as a Chrome trace. Throws Failure (io).
  void write_trace(const std::string& path);
  /// Formats the call paths of the interpreter's time as folded stacks, for flame graphs. There must be a profile.
  std::string folded_stacks();

  const EngineOptions& options() const { return options_; }
  /// Returns the devices, for tools that run plans themselves.
  exec::Devices& devices();
  /// Returns the timeline of the profile, or null.
  exec::Timeline* timeline();
  Interpreter& interpreter() { return *interpreter_; }
  ModuleLoader& modules() { return *modules_; }
  Prompt& prompt() { return *prompt_; }
  /// Sets where tensors are made from now on. Throws Failure (device).
  void set_default_device(std::string_view name);

  /// Receives the output of print() (default: standard output). The program cannot catch its exceptions. It must not
  /// run code: run(), its variants and call() fail meanwhile, since a compiled function may be running.
  std::function<void(std::string_view)> output;
  /// Writes the value's text and a newline to `output`. The program cannot catch a failure: a compiled function prints
  /// later than the program text says, outside the extent of its `try`.
  void print(const Value& value) override;
  /// Receives log output (default: standard error), under the same rules.
  std::function<void(std::string_view)> log;
  void write_log(std::string_view text) override;
  /// Shows how far loops over progress(xs) and reads of files are, as the last line of a terminal. `write` must not
  /// throw.
  void show_progress(std::function<void(std::string_view)> write);
  /// Receives warnings, which render() formats (default: as text to standard error), under the same rules.
  std::function<void(const Error&)> show_warning;
  void warn(Error warning) override;
  /// Returns the source of a module, or nothing, when a script imports `path` and the standard library has none; null:
  /// only files are searched. It must not run code.
  std::function<std::optional<std::string>(const std::string& path, const std::string& importer)> load_module;
  /// Receives a program where it stops: at a call of breakpoint() (null), or with `stops_at_errors` at an error that
  /// nothing catches. It may run code, and what it throws ends the program. Null: breakpoints do nothing.
  std::function<void(const Error*)> stopped;
  void stop_at_breakpoint() override { stop(nullptr); }
  /// Replaces the prompt, and returns the one before.
  std::unique_ptr<Prompt> exchange_prompt(std::unique_ptr<Prompt> prompt);
  const std::vector<std::string>& script_args() const override { return options_.script_args; }
  bool shows_device() const override { return options_.show_device; }

 private:
  template <class Sink, class Output> void write(const Sink& sink, const Output& text);
  void stop(const Error* error);
  void enter();

  EngineOptions options_;
  std::unique_ptr<EngineRuntime> runtime_;  // owns the memory of tensors, so it is destroyed last
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<BuiltinTable> builtins_;
  std::unique_ptr<ModuleLoader> modules_;
  std::unique_ptr<Prompt> prompt_;
  bool is_stopped_ = false;                               // `stopped` is running
  bool is_writing_ = false;                               // `output`, `log` or `show_warning` is running
  std::set<std::pair<std::string, std::string>> warned_;  // the line and the message of each warning so far
};

}  // namespace tsl
