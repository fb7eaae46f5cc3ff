#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

#include "cli/command_table.h"
#include "engine/log_topics.h"
#include "report/times.h"
#include "tensor/block_cache.h"

namespace tsl {

namespace {

bool is_number(const std::string& text) {
  constexpr size_t kMaxDigits = 4;
  return !text.empty() && text.size() <= kMaxDigits && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Returns what is wrong with a number, or "". (CLI11's own checks would print the limits of a double.)
std::string check_number(const std::string& text) {
  return is_number(text) ? "" : "'" + text + "' is not a number from 0 to 9999";
}
std::string check_threads(const std::string& text) {
  return is_number(text) ? "" : "'" + text + "' is not a number of threads, from 0 to 9999";
}

/// Parses a seed, which is an int as for seed(n).
std::optional<int64_t> parse_seed(const std::string& number) {
  int64_t seed = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, problem] = std::from_chars(number.data(), end, seed);
  return problem == std::errc() && stop == end ? std::optional(seed) : std::nullopt;
}

/// Returns what is wrong with a seed, or "". (CLI11 would replace one with too many digits by the greatest int.)
std::string check_seed(const std::string& number) {
  return parse_seed(number) ? "" : "'" + number + "' is not an int, which has 64 bits";
}

std::string list_of_topics() {
  std::string list;
  for (const LogTopic& topic : kLogTopics) list += fmt::format("{}{}", list.empty() ? "" : ", ", topic.name);
  return list;
}

/// Uses $TSL_LOG where there is no --log. Returns whether it can be used.
bool read_log_variable(EngineOptions& options) {
  const char* const list = std::getenv("TSL_LOG");
  if (!list) return true;
  const std::string problem = LogLevels::check(list);
  if (problem.empty()) options.log_topics = list;
  else std::cerr << "tsl: TSL_LOG: " << problem << '\n';
  return problem.empty();
}

/// Adds one option of the table, in the form of its field's type.
void add_backend_option(CLI::App& app, const exec::BackendOption& option, exec::BackendOptions& options) {
  if (const auto* size = std::get_if<uint64_t exec::BackendOptions::*>(&option.field)) {
    uint64_t& value = options.**size;
    app.add_option_function<std::string>(
           option.name, [&value](const std::string& text) { value = *parse_bytes(text); }, option.text)
        ->type_name("SIZE")
        ->check(check_memory_size);
  } else if (const auto* number = std::get_if<int exec::BackendOptions::*>(&option.field)) {
    app.add_option(option.name, options.**number, option.text)->type_name("N")->check(check_number);
  } else if (bool& flag = options.*std::get<bool exec::BackendOptions::*>(option.field); flag) {
    add_choice(app, option.name, {"on", "off"}, option.text,
               [&flag](const std::string& choice) { flag = choice == "on"; });
  } else {
    app.add_flag(option.name, flag, option.text);
  }
}

Warnings warnings_of(const std::string& choice) {
  return choice == "on" ? Warnings::on : choice == "off" ? Warnings::off : Warnings::error;
}

/// Adds the options of the tables that --profile prints.
void add_table_options(CLI::App& app, Command& command) {
  const auto words = [](const auto& names) { return std::vector<std::string>(names.begin(), names.end()); };
  const auto number_of = [](const auto& names, const std::string& name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  report::TableOptions& table = command.profile_table;
  add_choice(app, "--sort", words(report::kRowOrders), "By what --profile orders its rows (default: time)",
             [&, number_of](const std::string& name) {
               table.order = static_cast<report::RowOrder>(number_of(report::kRowOrders, name));
             });
  add_choice(app, "--group", words(report::kRowGroups),
             "What kernels in a row of --profile have in common (default: launch: name, types and lines)",
             [&, number_of](const std::string& name) {
               table.groups = static_cast<report::RowGroups>(number_of(report::kRowGroups, name));
             });
  app.add_option("--rows", table.rows, "The most rows of each table of --profile (default: 40)")
      ->type_name("N")
      ->check(check_number);
}

bool looks_like_option(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

/// `file`: "true" if only the tables are wanted.
void set_profile(Command& command, const std::string& file) {
  command.profile = command.engine.profile = true;
  if (file == "true") return;
  command.trace_file = file;
  command.engine.trace_events = report::kTraceEvents;
}

}  // namespace

void add_general_options(CLI::App& app, Command& command, std::string& code, std::string& profile) {
  app.option_defaults()->group("Running");
  app.add_option("-e", code, "Run CODE")->type_name("CODE");
  app.add_flag("-i", command.interactive, "A prompt, after the script if there is one");
  app.add_flag("--check", command.check, "Only look for errors that are known without running: syntax, names, calls");
  if (!app.get_option_no_throw("--json"))  // that of explain
    app.add_flag("--json", command.report.json, "What --check finds as JSON");
  app.add_flag("--check-nan", command.engine.check_nan,
               "Stop at the first op that makes a NaN or an infinity; runs op by op, also what is compiled otherwise");
  const auto set_seed = [&](const std::string& number) {
    command.engine.seed = static_cast<uint64_t>(*parse_seed(number));
  };
  app.add_option_function<std::string>("--seed", set_seed, "The seed of random numbers")
      ->type_name("N")
      ->check(check_seed);
  app.add_option("--threads", command.engine.threads, "How many threads compute (0: one per core)")
      ->type_name("N")
      ->check(check_threads);
  app.option_defaults()->group("Compiling");
  app.add_flag("--compile", command.engine.compile_all, "Compile outermost calls and top-level loops too");
  app.add_flag_callback(
      "--no-compile", [&] { command.engine.compile_annotated = false; },
      "Compile nothing, not even @compile functions");
  add_choice(app, "--numerics", {"exact", "fast"},
             "Compiled code gives eager execution's bits, or may round less often",
             [&](const std::string& choice) { command.engine.fast_numerics = choice == "fast"; });
  app.option_defaults()->group("Devices");
  app.add_option("--device", command.engine.device,
                 "Where tensors are made: cpu, cuda or cuda:N (default: the first GPU, else the CPU)")
      ->type_name("DEVICE");
  for (const exec::BackendOption& option : exec::kBackendOptions)
    add_backend_option(app, option, command.engine.backend);
  app.option_defaults()->group("Reports");
  app.add_flag_callback(
      "--timings", [&] { command.timings = command.engine.profile = true; },
      "Say after the run where the time for compiling went");
  app.add_flag("--profile", profile, "Say after the run what took how long; --profile=FILE also writes a Chrome trace");
  add_table_options(app, command);
  const auto set_profile_json = [&](const std::string& file) {
    command.profile_json = file;
    command.engine.profile = true;
  };
  app.add_option_function<std::string>("--profile-json", set_profile_json, "Write the profile to FILE, for tools")
      ->type_name("FILE");
  app.add_option("--dump", command.report.dump, "Write each stage of compiled code to files in DIR")->type_name("DIR");
  app.add_option("--log", command.engine.log_topics,
                 "What to log to standard error, such as fusion:debug,guards (default: $TSL_LOG): " + list_of_topics())
      ->type_name("TOPIC[:LEVEL],...")
      ->check(LogLevels::check);
  app.option_defaults()->group("Messages");
  add_choice(app, "--warn", {"on", "off", "error"}, "Warnings: shown, or not, or errors of the script",
             [&](const std::string& choice) { command.engine.warnings = warnings_of(choice); });
  add_choice(app, "--color", {"auto", "always", "never"}, "Colour in messages",
             [&](const std::string& when) { command.color = when; });
  app.set_help_flag();
  app.set_help_flag("-h,--help", "Show this help and exit");
  app.set_version_flag("-V,--version", "tsl " TSL_VERSION, "Show the version and exit");
  app.option_defaults()->group("Options");  // of commands
}

std::string check_memory_size(const std::string& size) {
  const std::optional<uint64_t> bytes = parse_bytes(size);
  return bytes && *bytes > 0 ? "" : "'" + size + "' is not a size, such as 512M or 1.5GiB";
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
  if (command.profile && rest[0].ends_with(".json")) {
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
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) { return app.exit(error, std::cout, std::cerr) == 0 ? 0 : kExitUsage; }
  if (app.count("--log") == 0 && !read_log_variable(command.engine)) return kExitUsage;
  if (!runs_script) return settle_command(app, command, *row);
  if (app.count("--profile") > 0) set_profile(command, profile);
  const int settled = app.count("-e") > 0 ? settle_code(app, command, app.remaining(), std::span(argv, argv + argc))
                                          : settle_script(app, command, app.remaining());
  if (command.report.json && !command.check && !command.report.explain) {
    std::cerr << "tsl: --json goes with --check\nRun with --help for more information.\n";
    return kExitUsage;
  }
  for (const char* const option : {"--sort", "--group", "--rows"}) {
    if (app.count(option) == 0 || command.profile) continue;
    std::cerr << "tsl: " << option << " goes with --profile\n" << kMoreHelp;
    return kExitUsage;
  }
  command.engine.record = command.report.any();
  if (command.report.explain) {
    command.engine.compile_all = command.engine.profile = true;
    command.engine.trace_events = std::max(command.engine.trace_events, report::kTimelineEvents);
  }
  return settled;
}

}  // namespace tsl
