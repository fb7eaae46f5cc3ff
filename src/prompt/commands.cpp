#include "prompt/commands.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>

#include "base/error_names.h"
#include "base/platform/child_process.h"
#include "base/time_text.h"
#include "drawing/braille.h"
#include "engine/engine.h"
#include "engine/modules.h"
#include "engine/prompt.h"
#include "prompt/entry_text.h"
#include "prompt/inspection.h"
#include "prompt/stopped_program.h"
#include "report/dump.h"
#include "syntax/tokens.h"
#include "tensor/layout.h"
#include "value/format.h"
#include "value/result_display.h"
#include "value/runtime.h"
#include "value/value_walk.h"

namespace tsl::prompt {

namespace {

// ---- Values ----------------------------------------------------------------------------------------

std::string show_help(SessionState& state, const std::string& word) {
  if (!word.empty()) {
    state.engine.run_line(state.engine.find(word) ? fmt::format("help({})", word) : "help(" + quoted(word) + ")");
    return "";
  }
  std::string text = "NAME? or help(NAME) tells about a value, help(\"WORD\") searches, Tab completes.\n";
  for (const Command& command : commands()) text += fmt::format("  :{:<9} {}\n", command.name, command.help);
  return text + "  !COMMAND   runs a command of the shell\n";
}

std::string show_type(SessionState& state, const std::string& code) {
  return type_text(state.engine.run_line(code)) + "\n";
}

/// Waits until a device has computed the tensors of a value, by reading an element of each.
void wait_for(Engine& engine, const Value& value) {
  any_leaf(value, [&](const Value& leaf) {
    if (!leaf.is(Tag::tensor) || leaf.tensor().device().is_host()) return false;
    const Tensor tensor = leaf.tensor();
    Layout layout = tensor.layout();
    for (int axis = 0; axis < layout.rank(); ++axis) {
      if (layout.shape[axis].hint() == 0) return false;
      layout = slice(layout, axis, 0, 1, 1);
    }
    engine.runtime().to_host(tensor.with_layout(layout));
    return false;
  });
}

/// Formats a number of things: ", 2 kernels"; "" if there are none.
std::string counted(uint64_t count, const char* noun) {
  return count == 0 ? "" : fmt::format(", {} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string show_time(SessionState& state, const std::string& code) {
  Engine& engine = state.engine;
  const auto counters = [&] { return engine.runtime().counters(engine.runtime().default_device()).kernels; };
  const uint64_t kernels = counters(), traces = engine.runtime().trace_counts().traces;
  const auto begin = std::chrono::steady_clock::now();
  const Value value = engine.run_line(code);
  wait_for(engine, value);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::string text = value.is_nil() || is_quiet(code) ? "" : shown_result(engine, value) + "\n";
  text += time_text(time.count());
  text += counted(counters() - kernels, "kernel") + counted(engine.runtime().trace_counts().traces - traces, "trace");
  return text + "\n";
}

std::string run_profile(SessionState& state, const std::string& code) {
  const Value value = state.engine.run_line(fmt::format("profile(fn() = ({}\n))", without_semicolon(code)));
  return value.is_nil() || is_quiet(code) ? "" : shown_result(state.engine, value) + "\n";
}

std::string run_bench(SessionState& state, const std::string& code) {
  return state.engine.run_line(fmt::format("bench(fn() = ({}\n)).text", without_semicolon(code))).as<String>().text +
         "\n";
}

std::string show_memory(SessionState& state, const std::string&) { return memory_text(state.engine); }

std::string show_variables(SessionState& state, const std::string&) { return variables_text(state.engine); }

// ---- Compiled code ---------------------------------------------------------------------------------

std::string show_graph(SessionState& state, const std::string& code) {
  return graphs_text(state.engine, state.engine.run_line(code));
}
std::string show_code(SessionState& state, const std::string& code) {
  return kernels_text(state.engine, state.engine.run_line(code));
}
std::string show_guards(SessionState& state, const std::string& code) {
  return guards_text(state.engine, state.engine.run_line(code));
}
std::string show_explanation(SessionState& state, const std::string& code) {
  return state.engine.runtime().explain(code.empty() ? Value() : state.engine.run_line(code), false);
}

// ---- Files and the session -------------------------------------------------------------------------

void load(SessionState& state, const std::string& path) {
  const std::string text = ModuleLoader::read_file(path);
  state.engine.run_line(text, path);
  state.entered.push_back(text);
}

std::string load_file(SessionState& state, const std::string& path) {
  std::erase(state.loaded, path);
  state.loaded.push_back(path);  // also if it fails: :reload is for after the mend
  load(state, path);
  return "";
}

/// Whether an entry is the import of a file: import "./a.tsl", from "./a.tsl" import f.
bool imports_file(const std::string& entry) {
  const std::vector<TextToken> tokens = tokens_of(entry);
  if (tokens.size() < 2 || tokens[1].kind != TokenClass::string) return false;
  const std::string first = entry.substr(tokens[0].begin, tokens[0].end - tokens[0].begin);
  return first == "import" || first == "from";
}

std::string reload(SessionState& state, const std::string&) {
  state.engine.modules().forget_files();
  std::set<std::string> imports;
  for (const std::string& entry : state.entered) {
    if (imports_file(entry)) imports.insert(entry);
  }
  for (const std::string& entry : imports) state.engine.run_line(entry);
  for (const std::string& path : state.loaded) load(state, path);
  return fmt::format("{} imports, {} files\n", imports.size(), state.loaded.size());
}

std::string save(SessionState& state, const std::string& path) {
  if (std::filesystem::exists(path) && state.saved.count(path) == 0)
    fail(ErrorName::file_in_the_way, "{} exists already; :save replaces only what it has written itself", path);
  std::string text;
  for (const std::string& entry : state.entered) text += entry.substr(0, entry.find_last_not_of('\n') + 1) + "\n";
  report::write_file(path, text);
  state.saved.insert(path);
  return fmt::format("{} entries\n", state.entered.size());
}

std::string change_folder(SessionState&, const std::string& path) {
  const char* const home = std::getenv("HOME");
  const bool is_in_home = home && (path == "~" || path.starts_with("~/"));
  std::error_code failed;
  if (!path.empty()) std::filesystem::current_path(is_in_home ? home + path.substr(1) : path, failed);
  if (failed) {
    const bool is_missing = failed == std::errc::no_such_file_or_directory;
    fail(is_missing ? ErrorName::file_not_found : ErrorName::cannot_read_file, "cannot go to {}: {}", path,
         failed.message());
  }
  return std::filesystem::current_path().string() + "\n";
}

/// Runs a command of the shell on the terminal. Returns what to say of its end.
std::string run_in_shell(const std::string& command) {
  std::cout << std::flush;
  using Kind = platform::ChildChange::Kind;
  const platform::ChildChange end = platform::change_of_status(std::system(command.c_str()));
  if (end.kind == Kind::exited && end.number != 0) return fmt::format("ended with {}\n", end.number);
  return end.kind == Kind::signalled ? fmt::format("ended by signal {}\n", end.number) : "";
}

std::string reset(SessionState& state, const std::string&) {
  state.engine.prompt().reset();
  state.engine.modules().forget_files();
  state.entered.clear();
  state.loaded.clear();
  return "";
}

std::string choose_device(SessionState& state, const std::string& name) {
  if (!name.empty()) state.engine.set_default_device(name);
  return "tensors are made on " + to_string(state.engine.runtime().default_device()) + "\n";
}

std::string quit(SessionState& state, const std::string&) {
  state.is_over = true;
  if (state.stopped) state.stopped->ends_program = true;
  return "";
}

// ---- Programs that have stopped --------------------------------------------------------------------

StoppedProgram& stopped_program(SessionState& state) {
  if (!state.stopped)
    fail_with(ErrorName::wrong_command_argument, "no program has stopped",
              {"breakpoint() in a program stops it there, and --on-error prompt where it fails"});
  return *state.stopped;
}

std::string go_on(SessionState& state, const std::string&) {
  stopped_program(state);
  state.is_over = true;
  return "";
}

std::string go_up(SessionState& state, const std::string&) {
  stopped_program(state).move(1);
  return state.stopped->place();
}

std::string go_down(SessionState& state, const std::string&) {
  stopped_program(state).move(-1);
  return state.stopped->place();
}

std::string show_calls(SessionState& state, const std::string&) { return stopped_program(state).calls(); }

constexpr Command kCommands[] = {
    {"help", Takes::expression, false, "this list; with a name, what it is", show_help},
    {"type", Takes::expression, true, "what kind of value an expression has: shape, dtype and device", show_type},
    {"time", Takes::expression, true, "how long an expression takes", show_time},
    {"profile", Takes::expression, true, "where the time of an expression goes", run_profile},
    {"bench", Takes::expression, true, "how long an expression takes when it runs again and again", run_bench},
    {"vars", Takes::nothing, false, "the variables, and what kind of value each has", show_variables},
    {"mem", Takes::nothing, false, "the device's memory, and which variables hold it", show_memory},
    {"explain", Takes::expression, false, "what was compiled for a function, and why as it was", show_explanation},
    {"graph", Takes::expression, true, "the graphs of a compiled function", show_graph},
    {"code", Takes::expression, true, "the kernels of a compiled function", show_code},
    {"guards", Takes::expression, true, "what must hold for the code of a function to be used again", show_guards},
    {"load", Takes::file, true, "runs a file as if it were typed", load_file},
    {"reload", Takes::nothing, false, "imports the imported files again, and runs the loaded ones", reload},
    {"save", Takes::file, true, "writes what was typed as a script", save},
    {"cd", Takes::file, false, "the folder that file names start from; with a name, goes there", change_folder},
    {"reset", Takes::nothing, false, "forgets all variables", reset},
    {"device", Takes::word, false, "where tensors are made; with a name (cpu, cuda:1), from now on", choose_device},
    {"where", Takes::nothing, false, "the calls of a program that has stopped, innermost first", show_calls},
    {"up", Takes::nothing, false, "goes to the call outside of this one: entries see its variables", go_up},
    {"down", Takes::nothing, false, "goes to the call inside of this one", go_down},
    {"continue", Takes::nothing, false, "lets a program that has stopped go on, as Ctrl-D does", go_on},
    {"quit", Takes::nothing, false, "leaves, as Ctrl-D and exit do; ends a program that has stopped", quit},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const Command* found = nullptr;
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
    if (name.empty() || command.name.substr(0, name.size()) != name) continue;
    if (found) return nullptr;
    found = &command;
  }
  return found;
}

std::string run_command(SessionState& state, std::string_view entry) {
  const std::string text = without_blanks(entry);
  if (text[0] == '!') return run_in_shell(text.substr(1));
  if (const std::string_view name = asked_name(text); !name.empty()) return show_help(state, std::string(name));
  if (text[0] == '?') return show_help(state, without_blanks(std::string_view(text).substr(1)));
  const size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string name = text.substr(1, end - 1), argument = without_blanks(std::string_view(text).substr(end));
  const Command* command = find_command(name);
  if (!command) {
    std::vector<std::string> known;
    for (const Command& row : kCommands) known.emplace_back(row.name);
    const std::string near = nearest_name(name, known);
    fail_with(ErrorName::unknown_command, fmt::format("there is no command :{}", name),
              {near.empty() ? ":help lists them" : fmt::format("did you mean ':{}'?", near)});
  }
  if (argument.empty() && command->needs_argument)
    fail(ErrorName::wrong_command_argument, ":{} needs an argument: {}", command->name, command->help);
  if (!argument.empty() && command->takes == Takes::nothing)
    fail(ErrorName::wrong_command_argument, ":{} takes no argument: {}", command->name, command->help);
  return command->run(state, argument);
}

}  // namespace tsl::prompt
