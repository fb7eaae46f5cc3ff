// Tests help, suggestions, and what is generated from the table of commands.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include <unistd.h>

#include "base/error_names.h"
#include "catch.h"
#include "cli/command_table.h"
#include "value/builtin.h"

using namespace tsl;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

struct Outcome {
  int code;
  std::string out, err;
};

Outcome run(std::vector<std::string> args) {
  args.insert(args.begin(), "tsl");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  std::ostringstream out, err;
  std::streambuf *const before_out = std::cout.rdbuf(out.rdbuf()), *const before_err = std::cerr.rdbuf(err.rdbuf());
  const int code = run_program(static_cast<int>(argv.size()), argv.data());
  std::cout.rdbuf(before_out);
  std::cerr.rdbuf(before_err);
  return {code, out.str(), err.str()};
}

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string in_markdown(const std::string& name) { return std::regex_replace(name, std::regex("_"), "\\_"); }

}  // namespace

TEST_CASE("tsl help lists all commands and options, and tells about each") {
  const Outcome help = run({"help"});
  CHECK(help.code == 0);
  CHECK(help.out == run({"--help"}).out);
  CHECK(run({"-h"}).out == help.out);
  for (const CommandRow& row : command_rows()) {
    CHECK_THAT(help.out, Contains(std::string("\n  ") + row.name + " " + row.arguments));
    CHECK_THAT(run({"help", row.name}).out, Contains(std::string("Usage: tsl ") + row.name));
    CHECK_THAT(run({row.name, "--help"}).out, Contains(std::string("Usage: tsl ") + row.name));
  }
  for (const OptionText& option : options_of(ProgramModel().app)) {
    CHECK_THAT(help.out, Contains(option.name));
    if (option.name == "--help") continue;  // tsl help --help is the help of `tsl help`
    CHECK_THAT(run({"help", option.name}).out, Contains(option.name) && Contains("\n  " + option.text + "\n"));
  }
  CHECK(run({"-V"}).out == run({"--version"}).out);
}

TEST_CASE("tsl doc has an entry for each name of the language, each option and each error") {
  const fs::path folder = fs::temp_directory_path() / ("tsl_cli_doc_" + std::to_string(getpid())) / "reference";
  const Outcome outcome = run({"doc", folder.string()});
  CHECK(outcome.code == 0);
  const auto has = [&](const std::string& file, const std::string& part) {
    CAPTURE(file, part);
    CHECK(read(folder / file).find(part) != std::string::npos);
  };
  EngineOptions options;
  options.device = "cpu";
  Engine engine(options);
  for (const std::string& name : engine.builtins().names())
    has("builtins.md", "\n## " + in_markdown(name) + "\n\n```text\n");
  for (const char* module : {"nn", "optim", "parallel", "plot", "science", "world"}) {
    const Value value = engine.run("<test>", std::string("import ") + module + "\n" + module);
    for (const auto& [name, cell] : value.as<Module>().exports) {
      if (cell->value.is(Tag::function) && name->front() != '_')
        has(std::string(module) + ".md", "\n## " + in_markdown(std::string(module) + "." + *name) + "\n");
    }
    has("index.md", std::string("(") + module + ".md)");
  }
  for (const OptionText& option : options_of(ProgramModel().app)) has("options.md", option.name);
  for (const CommandRow& row : command_rows()) has("options.md", std::string("\n## tsl ") + row.name);
  for (const ErrorRow& row : error_catalogue()) has("errors.md", "\n## " + std::string(row.name) + "\n");
  fs::remove_all(folder.parent_path());
}

TEST_CASE("tsl help tells about names of the language") {
  CHECK(run({"help", "sum"}).out.find("sum(x: array") == 0);
  CHECK_THAT(run({"help", "nn"}).out, Contains("module nn\n") && Contains("\n  linear("));
  CHECK(run({"help", "linear"}).out.find("nn.linear(x: tensor") == 0);
  CHECK(run({"help", "nn.linear"}).out == run({"help", "linear"}).out);
  CHECK_THAT(run({"help", "seed"}).out, Contains("--seed N\n") && Contains("\nseed(n: integer)\n"));
  CHECK_THAT(run({"help", "@compile"}).out, Contains("compiles the function"));
  CHECK_THAT(run({"help", "shape-mismatch"}).out, Contains("shape-mismatch, an error of the kind shape\n  "));
}

TEST_CASE("tsl help tells about each keyword of the grammar") {
  std::ifstream file(TSL_SOURCE_DIR "/grammar/Tsl.g4");
  const std::regex keyword("[A-Z]+ : '([a-z]+)' ;");
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, keyword)) continue;
    INFO(line);
    const Outcome help = run({"help", found[1]});
    CHECK(help.code == 0);
    CHECK_THAT(help.out, Contains(found[1].str()));
    ++count;
  }
  CHECK(count >= 22);
}

TEST_CASE("what is misspelt gets a suggestion") {
  const auto slip = [](std::vector<std::string> args) {
    const Outcome outcome = run(std::move(args));
    CHECK(outcome.code != 0);
    CHECK(outcome.out.empty());
    return outcome.err.substr(0, outcome.err.find('\n'));
  };
  CHECK(slip({"--compil", "x.tsl"}) == "tsl: unknown option --compil; did you mean --compile?");
  CHECK(slip({"--sed=7", "x.tsl"}) == "tsl: unknown option --sed=7; did you mean --seed?");
  CHECK(slip({"--zzzzzzzzz", "x.tsl"}) == "tsl: unknown option --zzzzzzzzz");
  CHECK(slip({"test", "--filtr", "x"}) == "tsl test: unexpected argument --filtr; did you mean --filter?");
  CHECK(slip({"exlpain", "x.tsl"}) == "tsl: there is no file exlpain; did you mean tsl explain?");
  CHECK(slip({"--seed", "1", "test", "x"}) == "tsl: there is no file test; a command comes first: tsl test …");
  CHECK(slip({"help", "enumrate"}) == "tsl help: there is no enumrate; did you mean 'enumerate'?");
  CHECK(slip({"fmt", "nosuch"}) == "error[io]: cannot read nosuch: No such file or directory");
  CHECK(run({"exlpain"}).code == 2);
}

TEST_CASE("completion scripts and the man page name each command and option") {
  const ProgramModel model;
  for (const std::string kind : {"bash", "zsh", "fish", "man"}) {
    const std::string text = run({"generate", kind}).out;
    for (const CLI::App* command : model.app.get_subcommands({})) {
      CHECK_THAT(text, Contains(command->get_name()));
      for (const OptionText& option : options_of(*command)) {
        const size_t dashes = kind == "fish" ? option.name.find_first_not_of('-') : 0;
        const std::string name = option.name.substr(dashes);
        CHECK_THAT(text, Contains(kind == "man" ? CLI::detail::find_and_replace(name, "-", "\\-") : name));
      }
    }
  }
  CHECK(run({"generate", "tcsh"}).code == 2);
}

TEST_CASE("tsl help finds functions for a word that names nothing") {
  CHECK_THAT(run({"help", "pooling"}).out, Contains("functions for 'pooling':\n  max_pool2d "));
  CHECK(run({"help", "pooling"}).code == 0);
}
