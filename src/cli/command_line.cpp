#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

#include "cli/command_table.h"
#include "engine/log_topics.h"
#include "engine/option_table.h"
#include "report/times.h"

namespace tsl {

namespace {

/// Uses $TSL_LOG where there is no --log. Returns whether it can be used.
bool read_log_variable(EngineOptions& options) {
  const char* const list = std::getenv("TSL_LOG");
  if (!list) return true;
  const std::string problem = LogLevels::check(list);
  if (problem.empty()) options.log_topics = list;
  else std::cerr << "tsl: TSL_LOG: " << problem << '\n';
  return problem.empty();
}

/// Adds one option of the table. `file` receives the value of one that is a flag or has a file.
void add_engine_option(CLI::App& app, const EngineOption& option, EngineOptions& options, std::string& file) {
  const auto read = [&option, &options](const std::string& value) { option.read(options, value); };
  switch (option.form) {
    case EngineOption::Form::flag:
      app.add_flag_callback(
          option.name, [read] { read("on"); }, option.text);
      return;
    case EngineOption::Form::flag_or_file: app.add_flag(option.name, file, option.text); return;
    case EngineOption::Form::value:
      app.add_option_function<std::string>(option.name, read, option.text)
          ->type_name(option.value)
          ->check([&option](const std::string& value) {
            EngineOptions ignored;
            return option.read(ignored, value);
          });
  }
}

bool looks_like_option(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

}  // namespace

void add_general_options(CLI::App& app, Command& command, std::string& code, std::string& profile) {
  app.option_defaults()->group("Running");
  app.add_option("-e", code, "Run CODE")->type_name("CODE");
  app.add_flag("-i", command.interactive, "A prompt, after the script if there is one");
  add_choice(app, "--on-error", {"prompt", "end"},
             "What follows an error: a prompt where the program failed, or its end",
             [&command](const std::string& word) { command.engine.stops_at_errors = word == "prompt"; });
  app.add_flag("--check", command.check,
               "Only look for errors that are known without running: syntax, names, calls, types");
  if (!app.get_option_no_throw("--json"))  // that of explain
    app.add_flag("--json", command.report.json, "What --check finds, or the errors of a run, as JSON");
  for (const EngineOption& option : engine_options()) {
    app.option_defaults()->group(option.group);
    add_engine_option(app, option, command.engine, profile);
  }
  app.option_defaults()->group("Ranks");
  app.add_option("--ranks", command.ranks.count,
                 "Run the script as N processes of this host, which `import world` connects")
      ->type_name("N")
      ->check(CLI::Range(1, kMostRanks).description(""));
  app.add_flag("--all-ranks", command.ranks.shows_all,
               "Show what all ranks print, each line with its rank; else rank 0's");
  app.option_defaults()->group("Messages");
  add_choice(app, "--color", {"auto", "always", "never"}, "Colour in messages and plots",
             [&](const std::string& when) { command.color = when; });
  app.set_help_flag();
  app.set_help_flag("-h,--help", "Show this help and exit");
  app.set_version_flag("-V,--version", "tsl " TSL_VERSION, "Show the version and exit");
  app.option_defaults()->group("Options");  // of commands
}

namespace {

constexpr const char* kMoreHelp = "Run with --help for more information.\n";

/// Reports an argument that means nothing, and the option with the nearest name.
int unknown_argument(const CLI::App& app, const std::string& what, const std::string& argument) {
  std::vector<std::string> known;
  std::vector<const CLI::App*> parts = app.get_subcommands({});
  parts.push_back(&app);
  for (const CLI::App* part : parts) {
    for (const OptionText& option : options_of(*part)) known.push_back(option.name);
  }
  const std::string near =
      looks_like_option(argument) ? nearest_name(argument.substr(0, argument.find('=')), known) : "";
  std::cerr << what << ' ' << argument << (near.empty() ? "" : "; did you mean " + near + "?") << '\n' << kMoreHelp;
  return kExitUsage;
}

/// Reports a script that is no file but resembles a command. Returns whether it does.
bool is_misspelt_command(const std::string& script) {
  std::error_code ignored;
  if (script.find_first_of("./-") != std::string::npos || std::filesystem::exists(script, ignored)) return false;
  std::vector<std::string> commands;
  for (const CommandRow& row : command_rows()) commands.emplace_back(row.name);
  const std::string near = nearest_name(script, commands);
  if (near.empty()) return false;
  std::cerr << "tsl: there is no file " << script << "; "
            << (near == script ? "a command comes first: tsl " + near + " …" : "did you mean tsl " + near + "?") << '\n'
            << kMoreHelp;
  return true;
}

/// Completes a command that runs a program: its arguments are `rest`. Returns as parse_command().
int settle_script(const CLI::App& app, Command& command, std::vector<std::string> rest) {
  if (rest.empty()) {
    if (!command.report.explain) return -1;
    std::cerr << "tsl explain: which script?\n" << kMoreHelp;
    return kExitUsage;
  }
  if (looks_like_option(rest[0])) return unknown_argument(app, "tsl: unknown option", rest[0]);
  if (command.engine.reports.profile && rest[0].ends_with(".json")) {
    std::cerr << "tsl: " << rest[0] << " is no script; --profile=" << rest[0] << " writes a trace to it\n";
    return kExitUsage;
  }
  if (is_misspelt_command(rest[0])) return kExitUsage;
  command.kind = rest[0] == "-" ? Command::Kind::input : Command::Kind::script;
  command.script = rest[0];
  rest.erase(rest.begin());
  command.engine.script_args = std::move(rest);
  return -1;
}

/// As settle_script(), for code among the arguments. An unknown option before -e is not for the code.
int settle_code(const CLI::App& app, Command& command, std::vector<std::string> rest, std::span<char*> arguments) {
  const auto option = std::find(arguments.begin(), arguments.end(), std::string_view("-e"));
  if (!rest.empty() && looks_like_option(rest[0]) && std::find(arguments.begin(), option, rest[0]) != option)
    return unknown_argument(app, "tsl: unknown option", rest[0]);
  command.kind = Command::Kind::code;
  command.engine.script_args = std::move(rest);
  return -1;
}

/// Completes a command that runs no script. Returns as parse_command().
int settle_command(const CLI::App& app, Command& command, const CommandRow& row) {
  std::vector<std::string> rest = app.remaining(true);
  if (row.kind == Command::Kind::help && command.help_name.empty() && !rest.empty()) {  // tsl help --seed
    command.help_name = rest[0];
    rest.erase(rest.begin());
  }
  if (rest.empty()) return -1;
  return unknown_argument(app, fmt::format("tsl {}: unexpected argument", row.name), rest[0]);
}

/// Takes --help behind a script's name out of the arguments: it is for the script. Returns whether it is there.
bool take_script_help(std::vector<char*>& arguments) {
  const auto is_script = [](std::string_view each) { return each.ends_with(".tsl"); };
  const auto is_help = [](std::string_view each) { return each == "--help" || each == "-h"; };
  const auto script = std::find_if(arguments.begin(), arguments.end(), is_script);
  const auto end = std::find(script, arguments.end(), std::string_view("--"));  // behind which all is for the script
  const auto help = std::find_if(script, end, is_help);
  if (help == end) return false;
  arguments.erase(help);
  return true;
}

}  // namespace

int parse_command(int argc, char** argv, Command& command) {
  // In other positions the name of a command is an ordinary argument.
  const CommandRow* const row = argc > 1 ? find_command(argv[1]) : nullptr;
  const bool runs_script = !row || row->kind == Command::Kind::script;
  std::vector<char*> arguments(argv, argv + argc);
  CLI::App app(kProgramText, "tsl");
  std::string profile;
  prepare_app(app);
  if (row && runs_script) {  // its options belong to those of the program
    app.description(row->text);
    app.formatter(make_help_formatter(row));
    row->add(app, command);
    arguments.erase(arguments.begin() + 1);
  }
  add_general_options(app, command, command.script, profile);
  if (row && !runs_script) {
    command.kind = row->kind;
    add_command(app, *row, command);
  }
  const bool has_script_help = runs_script && take_script_help(arguments);
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) { return app.exit(error, std::cout, std::cerr) == 0 ? 0 : kExitUsage; }
  if (app.count("--log") == 0 && !read_log_variable(command.engine)) return kExitUsage;
  if (!runs_script) return settle_command(app, command, *row);
  if (app.count("--profile") > 0) set_option(command.engine, "profile", profile == "true" ? "on" : profile);
  const int settled = app.count("-e") > 0 ? settle_code(app, command, app.remaining(), std::span(argv, argv + argc))
                                          : settle_script(app, command, app.remaining());
  if (has_script_help) command.engine.script_args.emplace_back("--help");
  for (const char* const option : {"--sort", "--group", "--rows"}) {
    if (app.count(option) == 0 || command.engine.reports.profile) continue;
    std::cerr << "tsl: " << option << " goes with --profile\n" << kMoreHelp;
    return kExitUsage;
  }
  if (command.report.explain) {
    command.engine.profile = command.engine.record = true;
    command.engine.trace_events = std::max(command.engine.trace_events, report::kTimelineEvents);
  }
  return settled;
}

}  // namespace tsl
