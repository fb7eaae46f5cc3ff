// The completion scripts of bash, zsh and fish.
#include <algorithm>

#include "cli/command_table.h"

namespace tsl {

namespace {

/// Puts a backslash before each of some characters.
std::string escaped(const std::string& text, std::string_view characters) {
  std::string result;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// Quotes a text for a shell, which ends at a quote and goes on after it.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string names_of(const std::vector<OptionText>& options) {
  std::string names;
  for (const OptionText& option : options) {
    for (const std::string& name : {option.short_name, option.name}) {
      if (!name.empty()) names += (names.empty() ? "" : " ") + name;
    }
  }
  return names;
}

/// Lists the words that an argument of a command may be: its parts, or those of its arguments.
std::string argument_words(const CLI::App& command) {
  std::string words;
  for (const CLI::App* part : command.get_subcommands({})) words += part->get_name() + " ";
  if (command.get_name() == "generate") words = "bash zsh fish man ";
  if (command.get_name() == "help") {
    for (const CommandRow& row : command_rows()) words += std::string(row.name) + " ";
  }
  if (!words.empty()) words.pop_back();
  return words;
}

// ---- bash ----------------------------------------------------------------------------------------------

/// Formats the cases of options whose values are words, at a place where the option's name is $previous.
std::string bash_values(const std::vector<OptionText>& options) {
  std::string cases;
  for (const OptionText& option : options) {
    if (!option.words.empty())
      cases += fmt::format("    {}) words='{}' ;;\n", option.name, fmt::join(option.words, " "));
    else if (!option.value.empty()) cases += fmt::format("    {}) return ;;\n", option.name);
  }
  return cases;
}

std::string bash_script(const ProgramModel& model) {
  const std::vector<OptionText> general = options_of(model.app);
  std::string commands, arguments, values = bash_values(general);
  for (const CLI::App* command : model.app.get_subcommands({})) {
    const std::vector<OptionText> own = options_of(*command);
    commands += (commands.empty() ? "" : " ") + command->get_name();
    arguments += fmt::format("    {}) options+=' {}' words='{}' ;;\n", command->get_name(), names_of(own),
                             argument_words(*command));
    values += bash_values(own);
  }
  return fmt::format(R"(# Completes the command line of tsl in bash. Printed by `tsl generate bash`.
_tsl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local options='{}' words=''
  COMPREPLY=()
  case ${{COMP_WORDS[1]}} in
{}  esac
  ((COMP_CWORD == 1)) && words='{}'
  if [[ $word == = ]]; then word=''; fi
  if [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  case $previous in
{}    *) [[ $word == -* ]] && words=$options ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _tsl tsl
)",
                     names_of(general), arguments, commands, values);
}

// ---- zsh -----------------------------------------------------------------------------------------------

std::string zsh_option(const OptionText& option) {
  std::string value;
  if (!option.value.empty()) {
    value = ":" + escaped(option.value, "\\:[]") + ":";
    if (!option.words.empty()) value += fmt::format("({})", fmt::join(option.words, " "));
    else if (option.takes_path) value += "_files";
  }
  const std::string text = "[" + escaped(option.text, "\\:[]") + "]" + value;
  const bool is_long = option.name.size() > 2;
  std::string line = "    " + shell_quoted(option.name + (is_long && !value.empty() ? "=" : "") + text) + "\n";
  if (!option.short_name.empty()) line += "    " + shell_quoted(option.short_name + text) + "\n";
  return line;
}

std::string zsh_script(const ProgramModel& model) {
  std::string general, commands, cases;
  for (const OptionText& option : options_of(model.app)) general += zsh_option(option);
  for (const CLI::App* command : model.app.get_subcommands({})) {
    commands += "    " + shell_quoted(command->get_name() + ":" + escaped(command->get_description(), "\\:")) + "\n";
    std::string own;
    for (const OptionText& option : options_of(*command)) {
      if (option.name != "--help") own += zsh_option(option);
    }
    const std::string words = argument_words(*command);
    cases += fmt::format("    {})\n      options+=(\n{}      )\n{}      ;;\n", command->get_name(), own,
                         words.empty() ? "" : fmt::format("      compadd -- {}\n", words));
  }
  return fmt::format(R"(#compdef tsl
# Completes the command line of tsl in zsh. Printed by `tsl generate zsh`.
_tsl() {{
  local -a options commands
  options=(
{}  )
  commands=(
{}  )
  if ((CURRENT == 2)); then _describe command commands; fi
  case $words[2] in
{}  esac
  _arguments $options '*:file:_files'
}}
_tsl "$@"
)",
                     general, commands, cases);
}

// ---- fish ----------------------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "\\'") + "'"; }

/// Formats the line of an option; `condition` are arguments of `complete`, or "".
std::string fish_option(const OptionText& option, const std::string& condition) {
  const bool is_long = option.name.size() > 2;
  std::string line = "complete -c tsl" + condition + (is_long ? " -l " + option.name.substr(2) : "");
  const std::string short_name = is_long ? option.short_name : option.name;
  if (!short_name.empty()) line += " -s " + short_name.substr(1);
  if (!option.words.empty()) line += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
  else if (!option.value.empty()) line += option.takes_path ? " -r" : " -x";
  return line + " -d " + fish_quoted(option.text) + "\n";
}

std::string fish_script(const ProgramModel& model) {
  std::string script = "# Completes the command line of tsl in fish. Printed by `tsl generate fish`.\n";
  for (const OptionText& option : options_of(model.app)) script += fish_option(option, "");
  for (const CLI::App* command : model.app.get_subcommands({})) {
    const std::string& name = command->get_name();
    script += fmt::format("complete -c tsl -n __fish_use_subcommand -a {} -d {}\n", name,
                          fish_quoted(command->get_description()));
    const std::string condition = " -n '__fish_seen_subcommand_from " + name + "'";
    for (const OptionText& option : options_of(*command)) {
      if (option.name != "--help") script += fish_option(option, condition);
    }
    const std::string words = argument_words(*command);
    if (!words.empty()) script += fmt::format("complete -c tsl{} -f -a '{}'\n", condition, words);
  }
  return script;
}

}  // namespace

std::string completion_script(const ProgramModel& model, std::string_view shell) {
  if (shell == "bash") return bash_script(model);
  return shell == "zsh" ? zsh_script(model) : fish_script(model);
}

}  // namespace tsl
