// The options and commands of the program. The command line is parsed with them; help, the completion scripts and the
// man page are printed from them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/program.h"

namespace tsl {

inline constexpr const char* kProgramText = "TSL, the tensor scripting language";
inline constexpr const char* kExitCodes = "0; 1 the script failed; 2 usage; 65 syntax error; 130 interrupted.";

/// A command: `tsl NAME ARGUMENTS`.
struct CommandRow {
  const char* name;
  const char* arguments;
  const char* text;
  Command::Kind kind;  // script: it runs one, and its options are options of the run
  bool takes_general_options;
  /// Adds its own options and arguments.
  void (*add)(CLI::App& app, Command& command);
};

std::span<const CommandRow> command_rows();
/// Returns the command of that name, or null.
const CommandRow* find_command(std::string_view name);
/// Adds a command as a part of the program.
void add_command(CLI::App& app, const CommandRow& row, Command& command);
/// Adds the options that each run of a program may have, in the order of their groups. `code` receives the argument of
/// -e, `profile` the file of --profile.
void add_general_options(CLI::App& app, Command& command, std::string& code, std::string& profile);

/// Sets how a program without options is parsed and shown.
void prepare_app(CLI::App& app);
/// Makes what formats the help of a command; of the program, if `row` is null.
std::shared_ptr<CLI::FormatterBase> make_help_formatter(const CommandRow* row);

/// The whole program, for what is printed about it.
struct ProgramModel {
  ProgramModel();
  CLI::App app;
  Command command;  // receives what is never parsed
  std::string code, profile;
};

/// A named option, as documents show it.
struct OptionText {
  std::string name;                // "--device", or "-e" if it has no long name
  std::string short_name;          // "-h", or ""
  std::string value;               // "FILE", "on|off", or "" for a flag
  std::string text;                // what it is for
  std::string group;               // the heading above it
  std::vector<std::string> words;  // its values, if they are a few words
  bool takes_path = false;
};
/// Lists the named options of the program or a command, in the order of their groups.
std::vector<OptionText> options_of(const CLI::App& app);

/// Formats a completion script for "bash", "zsh" or "fish".
std::string completion_script(const ProgramModel& model, std::string_view shell);
std::string man_page(const ProgramModel& model);

/// Adds an option whose value is one of a few words.
void add_choice(CLI::App& app, const char* name, std::vector<std::string> words, const char* text,
                std::function<void(const std::string&)> set);

}  // namespace tsl
