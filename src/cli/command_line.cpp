#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

#include "cli/program.h"
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

/// Returns what is wrong with a size in memory, or "".
std::string check_size(const std::string& size) {
  const std::optional<uint64_t> bytes = parse_bytes(size);
  return bytes && *bytes > 0 ? "" : "'" + size + "' is not a size, such as 512M or 1.5GiB";
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

/// Adds an option whose value is one of a few words.
void add_choice(CLI::App& app, const char* name, std::vector<std::string> words, const char* text,
                std::function<void(const std::string&)> set) {
  const std::string type = fmt::format("{}", fmt::join(words, "|"));
  app.add_option_function<std::string>(name, set, text)
      ->type_name(type)
      ->check(CLI::IsMember(std::move(words)).description(""));
}

/// Adds one option of the table, in the form of its field's type.
void add_backend_option(CLI::App& app, const exec::BackendOption& option, exec::BackendOptions& options) {
  if (const auto* size = std::get_if<uint64_t exec::BackendOptions::*>(&option.field)) {
    uint64_t& value = options.**size;
    app.add_option_function<std::string>(
           option.name, [&value](const std::string& text) { value = *parse_bytes(text); }, option.text)
        ->type_name("SIZE")
        ->check(check_size);
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

void add_options(CLI::App& app, Command& command, std::string& code, std::string& profile) {
  app.add_option("-e", code, "Run CODE")->type_name("CODE");
  app.add_flag("-i", command.interactive, "A prompt, after the script if there is one");
  app.add_flag("--check", command.check, "Only look for syntax and name errors");
  app.add_flag("--compile", command.engine.compile_all, "Compile outermost calls and top-level loops too");
  app.add_flag_callback(
      "--no-compile", [&] { command.engine.compile_annotated = false; },
      "Compile nothing, not even @compile functions");
  app.add_flag("--check-nan", command.engine.check_nan,
               "Stop at the first op that makes a NaN or an infinity; runs op by op, also what is compiled otherwise");
  app.add_option("--device", command.engine.device,
                 "Where tensors are made: cpu, cuda or cuda:N (default: the first GPU, else the CPU)")
      ->type_name("DEVICE");
  for (const exec::BackendOption& option : exec::kBackendOptions)
    add_backend_option(app, option, command.engine.backend);
  add_choice(app, "--numerics", {"exact", "fast"},
             "Compiled code gives eager execution's bits, or may round less often",
             [&](const std::string& choice) { command.engine.fast_numerics = choice == "fast"; });
  const auto set_seed = [&](const std::string& number) {
    command.engine.seed = static_cast<uint64_t>(*parse_seed(number));
  };
  app.add_option_function<std::string>("--seed", set_seed, "The seed of random numbers")
      ->type_name("N")
      ->check(check_seed);
  app.add_option("--threads", command.engine.threads, "How many threads compute (0: one per core)")
      ->type_name("N")
      ->check(check_threads);
  app.add_flag_callback(
      "--timings", [&] { command.timings = command.engine.profile = true; },
      "Say after the run where the time for compiling went");
  app.add_flag("--profile", profile, "Say after the run what took how long; --profile=FILE also writes a Chrome trace");
  const auto set_profile_json = [&](const std::string& file) {
    command.profile_json = file;
    command.engine.profile = true;
  };
  app.add_option_function<std::string>("--profile-json", set_profile_json, "Write the profile to FILE, for tools")
      ->type_name("FILE");
  app.add_option("--log", command.engine.log_topics,
                 "What to log to standard error, such as fusion:debug,guards (default: $TSL_LOG): " + list_of_topics())
      ->type_name("TOPIC[:LEVEL],…")
      ->check(LogLevels::check);
  add_choice(app, "--warn", {"on", "off", "error"}, "Warnings: shown, or not, or errors of the script",
             [&](const std::string& choice) { command.engine.warnings = warnings_of(choice); });
  app.add_option("--dump", command.report.dump, "Write each stage of compiled code to files in DIR")->type_name("DIR");
  add_choice(app, "--color", {"auto", "always", "never"}, "Colour in messages",
             [&](const std::string& when) { command.color = when; });
  app.set_version_flag("--version", "tsl " TSL_VERSION);
}

void add_test(CLI::App& app, Command& command) {
  command.kind = Command::Kind::test;
  command.engine.warnings = Warnings::off;  // a test may do on purpose what they are about
  CLI::App* test = app.add_subcommand("test", "Run the tests under PATH...");
  test->fallthrough();  // `tsl test --device cuda PATH`
  test->add_option("PATH", command.test_paths, "Scripts and folders")->required();
}

void add_format(CLI::App& app, Command& command) {
  command.kind = Command::Kind::format;
  CLI::App* format = app.add_subcommand("fmt", "Format the scripts under PATH...");
  format->add_flag("--check", command.format.check,
                   "Write nothing: name the files that are not formatted, and exit with 1");
  format->add_option("PATH", command.format.paths, "Scripts and folders; - is standard input")->required();
}

void add_cache(CLI::App& app, Command& command) {
  command.kind = Command::Kind::cache;
  CLI::App* cache = app.add_subcommand("cache", "Show how many GPU kernels are kept on disk, and where");
  cache->require_subcommand(0, 1);
  cache->add_subcommand("clear", "Remove them")->callback([&] { command.cache.action = CacheCommand::Action::clear; });
  CLI::App* cap = cache->add_subcommand("cap", "Set how much they may take; what was not used for longest goes first");
  const auto set = [&](const std::string& size) { command.cache.cap = *parse_bytes(size); };
  cap->add_option_function<std::string>("SIZE", set, "512M, 1.5GiB, …")->required()->check(check_size);
  cap->callback([&] { command.cache.action = CacheCommand::Action::cap; });
}

/// Adds the options of `tsl explain`, which runs a script as `tsl` does.
void add_explain(CLI::App& app, Command& command) {
  command.report.explain = true;
  app.add_flag("--json", command.report.json, "explain: the report as JSON");
  app.add_option("--html", command.report.html, "explain: write a page to FILE instead")->type_name("FILE");
  app.add_option("--to", command.report.to, "explain: write the report to FILE, not to standard error")
      ->type_name("FILE");
}

void add_diff(CLI::App& app, Command& command) {
  command.kind = Command::Kind::diff;
  CLI::App* diff = app.add_subcommand("diff", "Show what differs between two dumps");
  diff->add_option("DIR", command.dumps, "Folders that --dump has written")->required()->expected(2);
}

/// Returns what is wrong with a time in seconds, or "".
std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, seconds);
  constexpr double kMost = 3600;
  const bool is_valid = problem == std::errc() && stop == end && seconds >= 0 && seconds <= kMost;
  return is_valid ? "" : "'" + text + "' is not a number of seconds, from 0 to 3600";
}

void add_bench(CLI::App& app, Command& command) {
  command.kind = Command::Kind::bench;
  BenchCommand& bench = command.bench;
  CLI::App* sub = app.add_subcommand("bench", "Run the kernels of a dump alone, and show what they take");
  sub->fallthrough();  // `tsl bench --device cpu DIR`
  sub->add_option("DIR", bench.path, "A dump, a specialisation or a kernel in it: DIR/KERNEL")->required();
  sub->add_flag("--json", bench.json, "The measurements as JSON");
  sub->add_option("--seconds", bench.options.setup.seconds, "How long each kernel runs (default: 0.2)")
      ->type_name("S")
      ->check(check_seconds);
  const auto set = [&](const std::string& choice) {
    bench.options.setup.caches = choice == "plan"   ? exec::BenchCaches::as_in_plan
                                 : choice == "warm" ? exec::BenchCaches::warm
                                                    : exec::BenchCaches::cold;
  };
  add_choice(*sub, "--caches", {"plan", "warm", "cold"},
             "Which data caches hold when a kernel begins: as in its plan, all that fits, or none", set);
  sub->add_flag("--sweep", bench.options.sweep, "Try launch parameters that cannot change bits");
  sub->add_flag_callback(
      "--store", [&] { bench.options.sweep = bench.options.store = true; }, "Sweep, and keep the best for later runs");
}

/// `file`: "true" if only the tables are wanted.
void set_profile(Command& command, const std::string& file) {
  command.profile = command.engine.profile = true;
  if (file == "true") return;
  constexpr size_t kTraceEvents = 400'000;  // as JSON about 80 MB, which browsers still load
  command.trace_file = file;
  command.engine.trace_events = kTraceEvents;
}

constexpr const char* kFooter = R"(tsl SCRIPT [ARGS]   runs a script; - is standard input
tsl                 starts a prompt; runs standard input if that is no terminal
tsl test PATH...    runs the scripts under PATH and compares what they print with their "# expect:" comments
tsl fmt PATH...     formats the scripts under PATH in place; - is standard input; --check only names what would change
tsl explain SCRIPT  runs a script under --compile, then tells what was compiled and why; --json, --html FILE, --to FILE
tsl diff DIR1 DIR2  shows what differs between two dumps (--dump DIR)
tsl bench DIR[/KERNEL]  runs kernels of a dump alone, and shows what they take; --sweep, --store, --json
tsl cache           shows the GPU kernels kept on disk; `tsl cache clear`, `tsl cache cap SIZE`

Exit codes: 0; 1 the script failed; 2 usage; 65 syntax error; 130 interrupted.)";

int unknown_option(const std::string& option) {
  std::cerr << "tsl: unknown option " << option << "\nRun with --help for more information.\n";
  return kExitUsage;
}

bool looks_like_option(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

}  // namespace

int parse_command(int argc, char** argv, Command& command) {
  CLI::App app("TSL, the tensor scripting language", "tsl");
  app.footer(kFooter);
  app.allow_extras();  // the script and its arguments; options of tsl may precede or follow them
  std::string code;
  std::string profile;
  add_options(app, command, code, profile);
  const std::string_view first = argc > 1 ? argv[1] : "";  // in other positions "test" is an ordinary argument
  if (first == "test") add_test(app, command);
  if (first == "fmt") add_format(app, command);
  if (first == "cache") add_cache(app, command);
  if (first == "diff") add_diff(app, command);
  if (first == "bench") add_bench(app, command);
  std::vector<char*> arguments(argv, argv + argc);
  if (first == "explain") {
    add_explain(app, command);
    arguments.erase(arguments.begin() + 1);
  }
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) { return app.exit(error, std::cout, std::cerr) == 0 ? 0 : kExitUsage; }
  if (app.count("--log") == 0 && !read_log_variable(command.engine)) return kExitUsage;
  if (command.kind != Command::Kind::prompt) {
    if (app.remaining(true).empty()) return -1;
    std::cerr << "tsl " << first << ": unexpected argument " << app.remaining(true)[0]
              << "\nRun with --help for more information.\n";
    return kExitUsage;
  }
  if (app.count("--profile") > 0) set_profile(command, profile);
  std::vector<std::string> rest = app.remaining();
  if (app.count("-e") > 0) {
    char** const option =
        std::find(argv + 1, argv + argc, std::string_view("-e"));  // arguments before -e are not for the code
    if (!rest.empty() && looks_like_option(rest[0]) && std::find(argv + 1, option, rest[0]) != option)
      return unknown_option(rest[0]);
    command.kind = Command::Kind::code;
    command.script = code;
  } else if (!rest.empty()) {
    if (looks_like_option(rest[0])) return unknown_option(rest[0]);
    if (command.profile && rest[0].ends_with(".json")) {
      std::cerr << "tsl: " << rest[0] << " is no script; --profile=" << rest[0] << " writes a trace to it\n";
      return kExitUsage;
    }
    command.kind = rest[0] == "-" ? Command::Kind::input : Command::Kind::script;
    command.script = rest[0];
    rest.erase(rest.begin());
  } else if (command.report.explain) {
    std::cerr << "tsl explain: which script?\nRun with --help for more information.\n";
    return kExitUsage;
  }
  command.engine.record = command.report.any();
  if (command.report.explain) {
    command.engine.compile_all = command.engine.profile = true;
    command.engine.trace_events = std::max(command.engine.trace_events, report::kTimelineEvents);
  }
  command.engine.script_args = std::move(rest);
  return -1;
}

}  // namespace tsl
