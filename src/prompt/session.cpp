#include "prompt/session.h"

#include <cstdio>
#include <iostream>
#include <optional>

#include "base/error.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/terminal.h"
#include "builtins/builtins.h"
#include "drawing/braille.h"
#include "engine/engine.h"
#include "engine/prompt.h"
#include "prompt/commands.h"
#include "prompt/entry_reader.h"
#include "prompt/entry_text.h"
#include "prompt/history.h"
#include "prompt/stopped_program.h"
#include "value/builtin.h"

namespace tsl::prompt {

namespace {

bool leaves(Engine& engine, const std::string& entry) {
  std::string_view name = without_semicolon(entry);
  if (name.ends_with("()")) name.remove_suffix(2);
  if (name != "exit" && name != "quit") return false;
  const Value* const known = engine.find(name);
  return !known || known->is(Tag::builtin);  // unless the program uses the name
}

/// Shows the value of an expression within an entry.
Value show_value(Context& context, Args args) {
  if (!args[0].is_nil()) context.print(make_string(shown_result(context, args[0])));
  return Value();
}

constexpr Builtin kShow = with_effect({"show", "show(value: any)", "shows a value", show_value, "host"});

Value show_function() {
  Ref<BuiltinFunction> function = make_ref<BuiltinFunction>();
  function->builtin = &kShow;
  return Value(std::move(function));
}

void run_entry(SessionState& state, const std::string& entry) {
  Engine& engine = state.engine;
  const std::string text = without_blanks(entry);
  if (text.empty()) return;
  if (leaves(engine, text)) {
    state.is_over = true;
    return;
  }
  if (is_command(text)) {
    if (const std::string answer = run_command(state, text); !answer.empty()) engine.output(answer);
    return;
  }
  const Value value = engine.run_line(entry);
  state.entered.push_back(text);
  if (value.is_nil()) return;
  engine.prompt().set_last(value);
  if (!is_quiet(text)) engine.output(shown_result(engine, value) + "\n");
}

using ShowError = std::function<void(const Error&)>;

/// Reads and runs entries until one ends the session. Returns the code of an entry that calls exit().
std::optional<int> run_entries(SessionState& state, bool color, const ShowError& show) {
  Engine& engine = state.engine;
  const bool is_interactive = platform::is_terminal(platform::kStandardInput);
  History history(is_interactive ? default_history_file() : "");
  std::unique_ptr<EntryReader> reader = is_interactive ? make_line_editor(engine, history, color) : nullptr;
  if (!reader) reader = make_plain_reader(engine);
  std::string entry;
  while (!state.is_over && reader->read(entry)) {
    try {
      run_entry(state, entry);
      std::fflush(stdout);
    } catch (const Failure& failure) {
      std::fflush(stdout);
      if (failure.error().kind() == ErrorKind::exit) return failure.error().exit_code;
      if (is_interactive && failure.error().kind() == ErrorKind::interrupt)
        std::cout << '\n' << std::flush;  // after ^C
      show(failure.error());
    }
  }
  return std::nullopt;
}

}  // namespace

int run_session(Engine& engine, bool color, const std::function<void(const Error&)>& show) {
  if (platform::is_terminal(platform::kStandardInput))
    std::cout << "TSL " TSL_VERSION ", a prompt. :help tells what it can do, Ctrl-D leaves.\n" << std::flush;
  engine.start_recording();  // :graph and its like are about what runs before they are typed
  engine.prompt().show_with(show_function());
  SessionState state{engine};
  return run_entries(state, color, show).value_or(0);
}

void stop_program(Engine& engine, bool color, const Error* error, const std::function<void(const Error&)>& show) {
  std::fflush(stdout);
  if (error) show(*error);
  StoppedProgram program(engine);
  engine.output("stopped " + program.place());
  if (platform::is_terminal(platform::kStandardInput))
    engine.output(":continue goes on, :where shows the calls, :up and :down go through them, :quit ends the program\n");
  engine.prompt().show_with(show_function());
  SessionState state{engine, &program};
  std::optional<int> code = run_entries(state, color, show);
  if (program.ends_program) code = 0;
  if (code) exit_program(engine, *code);
}

}  // namespace tsl::prompt
