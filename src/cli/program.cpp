#include "cli/program.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>

#include "analysis/json.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/signals.h"
#include "base/platform/terminal.h"
#include "engine/modules.h"
#include "engine/run_reports.h"
#include "prompt/session.h"
#include "vm/interpreter.h"
#include "world/ending.h"
#include "world/group.h"

namespace tsl {

namespace {

// A signal handler can only access globals: this is the watch of the running engine.
std::atomic<RunWatch*> interrupted_watch{nullptr};

void on_interrupt(int) {
  if (RunWatch* watch = interrupted_watch.load()) watch->interrupt();
}

/// Lets SIGINT interrupt an engine during a scope, and end a prompt's read.
class InterruptScope {
 public:
  explicit InterruptScope(Engine& engine) { interrupted_watch = &engine.watch; }
  ~InterruptScope() { interrupted_watch = nullptr; }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  const platform::SignalScope signal_{platform::Signal::interrupt, on_interrupt};
};

/// `file`: where the text goes.
bool wants_color(const std::string& when, int file = platform::kStandardError) {
  const char* const no_color = std::getenv("NO_COLOR");
  if (when == "auto") return platform::is_terminal(file) && (!no_color || !*no_color);
  return when == "always";
}

/// Runs the program.
void run_main(const Command& command, Engine& engine) {
  switch (command.kind) {
    case Command::Kind::script:
      if (command.interactive) engine.run_line(ModuleLoader::read_file(command.script), command.script);
      else engine.run_file(command.script);
      return;
    case Command::Kind::code:
    case Command::Kind::input: {
      const bool is_code = command.kind == Command::Kind::code;
      const std::string name = title_of(command);
      const std::string text = is_code ? command.script : ModuleLoader::read_stream(std::cin, name);
      if (command.interactive) engine.run_line(text);
      else engine.run(name, text);
      return;
    }
    case Command::Kind::prompt:
    case Command::Kind::test:
    case Command::Kind::diff:
    case Command::Kind::bench:
    case Command::Kind::format:
    case Command::Kind::help:
    case Command::Kind::generate:
    case Command::Kind::make:
    case Command::Kind::doctor:
    case Command::Kind::doc:
    case Command::Kind::serve_editor:
    case Command::Kind::cache: return;
  }
}

/// Flushes the output. A full disk is a failure of the program, even if it is reported only now.
bool flush_output() {
  const bool was_written = std::ferror(stdout) == 0;
  if (std::fflush(stdout) == 0 && was_written) return true;
  std::cerr << "error[io]: cannot write to standard output";
  if (was_written) std::cerr << ": " << std::strerror(errno);
  std::cerr << std::endl;
  return false;
}

}  // namespace

std::string title_of(const Command& command) {
  if (command.kind == Command::Kind::script) return command.script;
  if (command.kind == Command::Kind::prompt) return "<prompt>";
  return command.kind == Command::Kind::code ? "<command line>" : "<stdin>";
}

void show(const Error& error, const SourceMap& sources, ErrorForm form) {
  std::fflush(stdout);
  std::cerr << (form.json ? analysis::error_json(error, sources) : render(error, sources, form.color)) << std::flush;
}

int report_error(const Error& error, const SourceMap& sources, ErrorForm form) {
  if (error.kind() == ErrorKind::exit) return error.exit_code;
  show(error, sources, form);
  if (error.kind() == ErrorKind::syntax) return kExitSyntax;
  return error.kind() == ErrorKind::interrupt ? kExitInterrupted : kExitFailed;
}

size_t terminal_width(int file) {
  if (!platform::is_terminal(file)) return 0;
  const char* const columns = std::getenv("COLUMNS");
  if (const int wanted = columns ? std::atoi(columns) : 0; wanted > 0) return static_cast<size_t>(wanted);
  return static_cast<size_t>(platform::size_of_terminal(file).columns);
}

namespace {

/// Writes the profile of the run, also of one that failed. Returns the exit code.
int write_profile(const Command& command, Engine& engine, ErrorForm form, int code) {
  if (!command.engine.reports.needs_profile()) return code;
  std::fflush(stdout);
  try {
    write_profiles(engine, title_of(command), form.color, terminal_width(platform::kStandardError),
                   [](std::string_view text) { std::cerr << text << std::flush; });
  } catch (const Failure& failure) {
    const int failed = report_error(failure.error(), engine.sources(), form);
    return code == 0 ? failed : code;
  }
  return code;
}

/// Tells the other ranks what the profile says of them. Another rank that has failed says so itself.
void share_profile(const Command& command, Engine& engine) {
  if (!command.engine.reports.needs_profile() || world::Group::of_process().size() == 1) return;
  try {
    engine.share_profile(command.engine.reports.trace);
  } catch (const Failure&) {}  // then each rank writes its own
}

/// Starts the ranks of a command that runs a script.
int start_ranks(char** argv, const Command& command) {
  if (command.kind == Command::Kind::script || command.kind == Command::Kind::code)
    return run_ranks(argv, command.ranks);
  std::cerr << "tsl: --ranks needs a script, or code after -e\n";
  return kExitUsage;
}

/// Waits for the links of a program that has called exit(), whose code counts.
void finish_quietly() {
  try {
    world::Group::finish();
  } catch (const Failure&) {}  // another rank has failed, which says so
}

int run_command(int argc, char** argv) {
  Command command;
  const int settled = parse_command(argc, argv, command);
  if (settled >= 0) return settled;
  if (command.kind == Command::Kind::cache) return run_cache(command.cache);
  if (command.kind == Command::Kind::diff) return run_diff(command.dumps);
  if (command.kind == Command::Kind::bench) return run_bench(command, wants_color(command.color));
  if (command.kind == Command::Kind::help) return run_help(command.help_name);
  if (command.kind == Command::Kind::make) return run_new(command.new_name);
  const bool is_rank = std::getenv("TSL_RANK") != nullptr;
  if (command.kind == Command::Kind::doctor) {
    if (command.ranks.count == 1) return run_doctor();
    return is_rank ? run_links() : run_ranks(argv, command.ranks);
  }
  if (command.kind == Command::Kind::serve_editor) return run_language_server();
  if (command.kind == Command::Kind::doc) return run_doc(command.doc_folder);
  if (command.kind == Command::Kind::generate) return run_generate(command.generate);
  if (command.kind == Command::Kind::format) return run_format(command.format, wants_color(command.color));
  if (command.kind == Command::Kind::test) return run_tests(command.test, command.engine);

  if (command.ranks.count > 1 && !is_rank) return start_ranks(argv, command);

  const bool is_piped =
      command.kind == Command::Kind::prompt && !command.interactive && !platform::is_terminal(platform::kStandardInput);
  if (is_piped) command.kind = Command::Kind::input;  // tsl < script

  const bool color = wants_color(command.color);
  const ErrorForm form{color, command.report.json && !command.report.explain};
  if (command.check && command.kind != Command::Kind::prompt) return run_check(command, color);
  command.engine.defer_errors =
      command.kind != Command::Kind::prompt && !command.interactive && !command.engine.stops_at_errors;
  std::unique_ptr<Engine> opened;
  try {
    begin_reports(command);
    opened = std::make_unique<Engine>(command.engine);
  } catch (const Failure& failure) {  // no such device, or no place for a report
    show(failure.error(), SourceMap(), form);
    return kExitFailed;
  }
  Engine& engine = *opened;
  if (command.report.takes_output()) engine.output = [](std::string_view text) { std::cerr << text << std::flush; };
  engine.screen = [file = command.report.takes_output() ? platform::kStandardError : platform::kStandardOutput,
                   when = command.color] {
    const auto width = static_cast<int>(terminal_width(file));
    return Screen{width > 0 ? width : Screen().columns, wants_color(when, file)};
  };
  engine.show_warning = [&](const Error& warning) { show(warning, engine.sources(), form); };
  if (platform::is_terminal(platform::kStandardError))
    engine.show_progress([](std::string_view text) { std::cerr << text << std::flush; });
  engine.stopped = [&](const Error* error) {
    if (world::Group::of_process().size() > 1) return;  // they share one terminal
    prompt::stop_program(engine, color, error, [&](const Error& each) { show(each, engine.sources(), form); });
  };
  const InterruptScope interrupts(engine);
  world::allow_ending();
  int code = 0;
  try {
    run_main(command, engine);
    world::Group::finish();
    share_profile(command, engine);
    world::Group::leave("its program has ended");
  } catch (const Failure& failure) {
    code = report_error(failure.error(), engine.sources(), form);
    if (failure.error().name == ErrorName::program_exit) finish_quietly();
    world::Group::leave(failure.error().message);
  }
  const bool wants_prompt = command.interactive || command.kind == Command::Kind::prompt;
  if (wants_prompt && !command.check && code != kExitInterrupted) {
    code = prompt::run_session(engine, color, [&](const Error& error) { show(error, engine.sources(), form); });
  }
  code = write_profile(command, engine, form, code);
  try {
    // Also for a program that has failed.
    write_reports(command, engine, wants_color(command.color, platform::kStandardOutput));
  } catch (const Failure& failure) { code = report_error(failure.error(), engine.sources(), form); }
  return code;
}

}  // namespace

int run_program(int argc, char** argv) {
  int code = kExitFailed;
  try {
    code = run_command(argc, argv);
  } catch (const std::bad_alloc&) {  // where no script runs, so that there is no line
    std::cerr << "error[memory]: out of memory" << std::endl;
  }
  if (!flush_output() && code == 0) code = kExitFailed;
  return code;
}

}  // namespace tsl
