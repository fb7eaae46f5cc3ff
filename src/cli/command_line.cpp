#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string_view>

#include "cli/program.h"

namespace tsl {

namespace {

constexpr std::string_view kTopics[] = {"bytecode", "graph", "fusion", "plan", "guards", "recompiles"};

/// What is wrong with a list of topics, or "".
std::string check_topics(const std::string& list) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string topic = list.substr(begin, end - begin);
    if (std::find(std::begin(kTopics), std::end(kTopics), topic) == std::end(kTopics)) {
      return "unknown topic '" + topic + "': bytecode, graph, fusion, plan, guards or recompiles";
    }
    begin = end + 1;
  }
  return "";
}

/// What is wrong with a number of threads, or "". (CLI11's own checks print the limits of a double.)
std::string check_threads(const std::string& number) {
  constexpr size_t kMaxDigits = 4;
  const bool is_count = !number.empty() && number.size() <= kMaxDigits && number.find_first_not_of("0123456789") == std::string::npos;
  return is_count ? "" : "'" + number + "' is not a number of threads, from 0 to 9999";
}

void add_options(CLI::App& app, Command& command, std::string& code) {
  app.add_option("-e", code, "Run CODE")->type_name("CODE");
  app.add_flag("-i", command.interactive, "A prompt after the script");
  app.add_flag("--check", command.check, "Only look for syntax and name errors");
  app.add_flag("--compile", command.engine.compile_all, "Compile outermost calls and top-level loops too");
  app.add_flag("!--no-compile", command.engine.compile_annotated, "Compile nothing, not even @compile functions");
  app.add_option("--device", command.engine.device, "cpu, cuda or cuda:N")->type_name("DEVICE");
  app.add_option("--seed", command.engine.seed, "The seed of random numbers")->type_name("N");
  app.add_option("--threads", command.engine.threads, "How many threads compute (0: one per core)")
      ->type_name("N")->check(check_threads);
  app.add_option("--log", command.engine.log_topics, "What to log to standard error: bytecode, …")
      ->type_name("TOPIC,…")->check(check_topics);
  app.add_option("--color", command.color, "Colour in messages")->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.set_version_flag("--version", "tsl " TSL_VERSION);
}

constexpr const char* kFooter = R"(tsl SCRIPT [ARGS]   runs a script; - is standard input
tsl                 starts a prompt
tsl test PATH...    runs the scripts under PATH and compares what they print with their "# expect:" comments

Exit codes: 0; 1 the script failed; 2 usage; 65 syntax error; 130 interrupted.)";

}  // namespace

int parse_command(int argc, char** argv, Command& command) {
  CLI::App app("TSL, the tensor scripting language", "tsl");
  app.footer(kFooter);
  app.allow_extras();  // the script and its arguments; options of tsl may stand before or after them
  std::string code;
  add_options(app, command, code);
  const bool is_test = argc > 1 && std::string_view(argv[1]) == "test";
  if (is_test) {  // elsewhere "test" is an argument like any other
    CLI::App* test = app.add_subcommand("test", "Run the tests under PATH...");
    test->fallthrough();  // `tsl test --device cuda PATH`
    test->add_option("PATH", command.test_paths, "Scripts and folders")->required();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, std::cout, std::cerr) == 0 ? 0 : kExitUsage;
  }
  if (is_test) {
    command.kind = Command::Kind::test;
    return -1;
  }
  std::vector<std::string> rest = app.remaining();
  if (app.count("-e") > 0) {
    command.kind = Command::Kind::code;
    command.script = code;
  } else if (!rest.empty()) {
    if (rest[0].size() > 1 && rest[0][0] == '-') {
      std::cerr << "tsl: unknown option " << rest[0] << "\nRun with --help for more information.\n";
      return kExitUsage;
    }
    command.kind = rest[0] == "-" ? Command::Kind::input : Command::Kind::script;
    command.script = rest[0];
    rest.erase(rest.begin());
  }
  command.engine.script_args = std::move(rest);
  return -1;
}

}  // namespace tsl
