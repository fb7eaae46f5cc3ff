#include "cli/command_table.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "engine/log_topics.h"
#include "engine/option_table.h"
#include "tensor/block_cache.h"

namespace tsl {

namespace {

void add_test(CLI::App& app, Command& command) {
  command.engine.warnings = Warnings::off;  // a test may do on purpose what they are about
  app.add_option("--filter", command.test.filter, "Run only the scripts whose path contains TEXT")->type_name("TEXT");
  app.add_flag("--update", command.test.update, "Write what the scripts print into their \"# expect:\" comments");
  app.add_flag("-v,--verbose", command.test.verbose, "Name each script, and how long it takes");
  app.add_option("PATH", command.test.paths, "Scripts and folders")->required();
}

void add_format(CLI::App& app, Command& command) {
  app.add_flag("--check", command.format.check,
               "Write nothing: name the files that are not formatted, and exit with 1");
  app.add_option("PATH", command.format.paths, "Scripts and folders; - is standard input")->required();
}

void add_cache(CLI::App& app, Command& command) {
  app.require_subcommand(0, 1);
  app.add_subcommand("clear", "Remove them")->callback([&] { command.cache.action = CacheCommand::Action::clear; });
  CLI::App* cap = app.add_subcommand("cap", "Set how much they may take; what was not used for longest goes first");
  const auto set = [&](const std::string& size) { command.cache.cap = *parse_bytes(size); };
  cap->add_option_function<std::string>("SIZE", set, "512M, 1.5GiB, …")->required()->check(check_memory_size);
  cap->callback([&] { command.cache.action = CacheCommand::Action::cap; });
}

void add_explain(CLI::App& app, Command& command) {
  command.report.explain = true;
  app.add_flag("--json", command.report.json, "The report as JSON");
  app.add_option("--html", command.report.html, "Write a page to FILE instead")->type_name("FILE");
  app.add_option("--to", command.report.to, "Write the report to FILE, not to standard output")->type_name("FILE");
  app.add_option("--function", command.report.function, "Tell of one function and the loops in it")->type_name("NAME");
  app.add_flag("--all", command.report.all, "Tell everything, not at most a screen for each region");
}

void add_diff(CLI::App& app, Command& command) {
  app.add_option("DIR", command.dumps, "Folders that --dump has written")->required()->expected(2);
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
  BenchCommand& bench = command.bench;
  app.add_option("DIR", bench.path, "A dump, a specialisation or a kernel in it: DIR/KERNEL, DIR/FUNCTION@64x32")
      ->required();
  app.add_flag("--json", bench.json, "The measurements as JSON");
  app.add_option("--seconds", bench.options.setup.seconds, "How long each kernel runs (default: 0.2)")
      ->type_name("S")
      ->check(check_seconds);
  const auto set = [&](const std::string& choice) {
    bench.options.setup.caches = choice == "plan"   ? exec::BenchCaches::as_in_plan
                                 : choice == "warm" ? exec::BenchCaches::warm
                                                    : exec::BenchCaches::cold;
  };
  add_choice(app, "--caches", {"plan", "warm", "cold"},
             "Which data caches hold when a kernel begins: as in its plan, all that fits, or none", set);
  app.add_flag("--sweep", bench.options.sweep, "Try launch parameters that cannot change bits");
  app.add_flag_callback(
      "--store", [&] { bench.options.sweep = bench.options.store = true; }, "Sweep, and keep the best for later runs");
}

void add_help(CLI::App& app, Command& command) {
  app.add_option(
      "NAME", command.help_name,
      "A command, an option, a keyword, a function or a module of the language; or a word: what has to do with it");
}

void add_new(CLI::App& app, Command& command) {
  app.add_option("NAME", command.new_name, "The folder to make")->required();
}

void add_doctor(CLI::App& app, Command& command) {
  app.add_option("--ranks", command.ranks.count, "Measure the links between N processes of this host instead")
      ->type_name("N")
      ->check(CLI::Range(1, kMostRanks).description(""));
}

void add_language_server(CLI::App& app, Command&) {
  app.add_flag_callback(
      "--stdio", [] {}, "Speak over standard input and output, as it does anyway: for editors that say so");
}

void add_doc(CLI::App& app, Command& command) {
  app.add_option("FOLDER", command.doc_folder, "Where the pages are written; it is made if need be")->required();
}

void add_generate(CLI::App& app, Command& command) {
  app.add_option("KIND", command.generate, "bash, zsh, fish or man")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}).description(""));
}

using Kind = Command::Kind;
constexpr CommandRow kCommands[] = {
    {"test", "PATH...", "Run scripts on every tier, and compare what they print with their \"# expect:\" comments",
     Kind::test, true, add_test},
    {"fmt", "PATH...", "Format scripts in place", Kind::format, false, add_format},
    {"explain", "SCRIPT [ARGS]", "Run a script, then tell what was compiled and why", Kind::script, true, add_explain},
    {"diff", "DIR1 DIR2", "Show what differs between two dumps", Kind::diff, false, add_diff},
    {"bench", "DIR[/NAME[@SHAPE]]", "Run kernels of a dump alone, and show what they take", Kind::bench, true,
     add_bench},
    {"cache", "[clear|cap SIZE]", "Show the GPU kernels kept on disk, remove them, or limit what they take",
     Kind::cache, false, add_cache},
    {"new", "NAME", "Make a folder with a first program, its data, its tests and a README", Kind::make, false, add_new},
    {"doctor", "[--ranks N]",
     "Say what is found here (processor, GPU, libraries, cache), and what to do about what is missing", Kind::doctor,
     false, add_doctor},
    {"doc", "FOLDER", "Write a reference of all functions, options and errors, as pages in Markdown", Kind::doc, false,
     add_doc},
    {"lsp", "", "Serve an editor over standard input and output, by the Language Server Protocol", Kind::serve_editor,
     false, add_language_server},
    {"help", "[NAME]", "Tell about a command, an option, or a name of the language", Kind::help, false, add_help},
    {"generate", "KIND", "Print the completion script of a shell (bash, zsh, fish), or the man page (man)",
     Kind::generate, false, add_generate},
};

constexpr size_t kTextColumn = 30;  // of help

/// Formats help as CLI11 does, but for how a command is called and the list of commands.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(const CommandRow* row) : row_(row) { column_width(kTextColumn); }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const std::string text = Formatter::make_help(app, std::move(name), mode);
    return CLI::detail::find_and_replace(text, "\n\n\n", "\n\n");
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    const bool is_part = app->get_parent() && app->get_parent()->get_parent();
    if (is_part) return Formatter::make_usage(app, std::move(name));  // tsl cache cap
    if (row_) return fmt::format("\nUsage: tsl {} [OPTIONS] {}\n", row_->name, row_->arguments);
    std::string text =
        "\nUsage: tsl [OPTIONS] SCRIPT [ARGS]  runs a script; - is standard input\n"
        "       tsl [OPTIONS]                starts a prompt; runs standard input if that is no terminal\n"
        "       tsl COMMAND [OPTIONS] …\n\nCommands:\n";
    for (const CommandRow& row : kCommands)
      text += fmt::format("  {:<{}}{}\n", fmt::format("{} {}", row.name, row.arguments), kTextColumn - 2, row.text);
    return text;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_positional() ? "" : Formatter::make_option_opts(option);
  }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    return row_ ? Formatter::make_subcommands(app, mode) : "";  // which the usage has listed
  }

 private:
  const CommandRow* row_;
};

}  // namespace

std::span<const CommandRow> command_rows() { return kCommands; }

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& row : kCommands) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

void add_command(CLI::App& app, const CommandRow& row, Command& command) {
  CLI::App* const part = app.add_subcommand(row.name, row.text);
  part->formatter(make_help_formatter(&row));
  part->footer(row.takes_general_options ? "The options of tsl itself may follow, too: tsl --help lists them." : "");
  if (row.takes_general_options) part->fallthrough();  // `tsl test --device cuda PATH`
  row.add(*part, command);
}

std::shared_ptr<CLI::FormatterBase> make_help_formatter(const CommandRow* row) {
  return std::make_shared<HelpFormatter>(row);
}

void prepare_app(CLI::App& app) {
  app.formatter(make_help_formatter(nullptr));
  app.footer(fmt::format("tsl help NAME tells about a command, an option, or a name of the language.\nExit codes: {}",
                         kExitCodes));
  app.allow_extras();  // the script and its arguments; options of tsl may precede or follow them
}

ProgramModel::ProgramModel() : app(kProgramText, "tsl") {
  prepare_app(app);
  add_general_options(app, command, code, profile);
  for (const CommandRow& row : kCommands) add_command(app, row, command);
}

std::vector<OptionText> options_of(const CLI::App& app) {
  std::vector<OptionText> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) continue;
    const std::vector<std::string>& names = option->get_lnames();
    OptionText entry;
    if (!option->get_snames().empty()) entry.short_name = "-" + option->get_snames()[0];
    entry.name = names.empty() ? std::exchange(entry.short_name, "") : "--" + names[0];
    if (option->get_items_expected_max() > 0) entry.value = option->get_type_name();
    entry.text = option->get_description();
    entry.group = option->get_group();
    if (entry.value.find('|') != std::string::npos) entry.words = CLI::detail::split(entry.value, '|');
    if (entry.name == "--device") entry.words = {"cpu", "cuda"};
    for (const LogTopic& topic : kLogTopics) {
      if (entry.name == "--log") entry.words.emplace_back(topic.name);
    }
    entry.takes_path = entry.value == "FILE" || entry.value == "DIR";
    options.push_back(std::move(entry));
  }
  return options;
}

void add_choice(CLI::App& app, const char* name, std::vector<std::string> words, const char* text,
                std::function<void(const std::string&)> set) {
  const std::string type = fmt::format("{}", fmt::join(words, "|"));
  app.add_option_function<std::string>(name, set, text)
      ->type_name(type)
      ->check(CLI::IsMember(std::move(words)).description(""));
}

}  // namespace tsl
