// The man page.
#include "cli/command_table.h"

namespace tsl {

namespace {

/// A variable of the environment that users set.
struct VariableRow {
  const char *name, *text;
};
constexpr VariableRow kVariables[] = {
    {"TSL_PATH", "Folders, separated by colons, in which modules are looked for after the standard library."},
    {"TSL_LOG", "What to log, if there is no --log."},
    {"TSL_CACHE_DIR", "Where GPU kernels and measurements are kept; otherwise in $XDG_CACHE_HOME/tsl or ~/.cache/tsl."},
};

/// Escapes text for troff, which reads ASCII.
std::string troff(const std::string& text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char c : CLI::detail::find_and_replace(text, "…", "...")) {
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else result += c;
  }
  return result;
}

/// Formats an entry: what it is about in bold, its values in italics, and its text.
std::string entry(const std::string& name, const std::string& value, const std::string& text) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", troff(name), value.empty() ? "" : " \\fI" + troff(value) + "\\fR",
                     troff(text));
}

std::string option_entry(const OptionText& option) {
  return entry(option.short_name.empty() ? option.name : option.short_name + ", " + option.name, option.value,
               option.text);
}

std::string command_section(const CLI::App& app) {
  std::string text = ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    text += entry("tsl " + command->get_name(), find_command(command->get_name())->arguments,
                  command->get_description() + ".");
    std::string own;
    for (const OptionText& option : options_of(*command)) {
      if (option.name != "--help") own += option_entry(option);
    }
    for (const CLI::App* part : command->get_subcommands({}))
      own += entry(part->get_name(), "", part->get_description());
    if (!own.empty()) text += ".RS\n" + own + ".RE\n";
  }
  return text;
}

std::string option_section(const CLI::App& app) {
  std::string text = ".SH OPTIONS\n", group;
  for (const OptionText& option : options_of(app)) {
    if (option.group != group) text += fmt::format(".SS {}\n", group = option.group);
    text += option_entry(option);
  }
  return text;
}

}  // namespace

std::string man_page(const ProgramModel& model) {
  std::string text = fmt::format(
      ".\\\" Printed by `tsl generate man`.\n.TH TSL 1 \"\" TSL\n.SH NAME\ntsl \\- {}\n.SH SYNOPSIS\n", kProgramText);
  text +=
      ".B tsl\n[\\fIOPTIONS\\fR] \\fISCRIPT\\fR [\\fIARGS\\fR]\n.br\n.B tsl\n[\\fIOPTIONS\\fR]\n.br\n"
      ".B tsl\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] \\fIARGS\\fR\n.SH DESCRIPTION\n"
      "Runs a script of the tensor scripting language; \\- is standard input. Without a script it starts a prompt, or "
      "runs\nstandard input if that is no terminal. \\fBtsl help\\fR \\fINAME\\fR tells about each name of the "
      "language.\n";
  text += command_section(model.app) + option_section(model.app);
  text += fmt::format(".SH EXIT STATUS\n{}\n.SH ENVIRONMENT\n", kExitCodes);
  for (const VariableRow& variable : kVariables) text += entry(variable.name, "", variable.text);
  return text;
}

}  // namespace tsl
