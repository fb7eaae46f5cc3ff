// `tsl help NAME`.
#include <algorithm>
#include <iostream>

#include "base/error_names.h"
#include "base/words.h"
#include "builtins/library_help.h"
#include "cli/command_table.h"
#include "engine/library.h"
#include "value/builtin.h"
#include "value/format.h"

namespace tsl {

namespace {

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Collects what is known about one name, and all names there are.
class HelpSearch {
 public:
  explicit HelpSearch(const std::string& name) : name_(name), engine_(options()) {
    engine_.output = [this](std::string_view text) { printed_ += text; };
    search_commands();
    search_options();
    search_keywords();
    search_builtins();
    search_modules();
    search_errors();
  }

  const std::vector<std::string>& found() const { return found_; }
  /// Returns the functions that help("…") of the language finds for the text; "" if there are none.
  std::string functions() {
    const std::string text = language_help("", quoted(name_));
    return text.starts_with("functions") ? text : "";
  }
  const std::vector<std::string>& known() const { return known_; }

 private:
  static EngineOptions options() {
    EngineOptions options;
    options.device = "cpu";
    return options;
  }

  /// Notes a name, and returns whether it is the one to find.
  bool is_wanted(std::string name) {
    known_.push_back(std::move(name));
    return known_.back() == name_;
  }

  void search_commands() {
    for (const CLI::App* part : model_.app.get_subcommands({})) {
      if (is_wanted(part->get_name())) found_.push_back(part->help("tsl"));
    }
  }

  void search_options() {
    for (const OptionText& option : options_of(model_.app)) {
      const std::string bare = option.name.substr(option.name.find_first_not_of('-'));
      const bool is_it = is_wanted(option.name) | is_wanted(option.short_name) | (bare.size() > 1 && bare == name_);
      if (!is_it) continue;
      const std::string names = option.short_name.empty() ? option.name : option.short_name + ", " + option.name;
      found_.push_back(
          fmt::format("{}{}{}\n  {}\n", names, option.value.empty() ? "" : " ", option.value, option.text));
    }
  }

  void search_keywords() {
    for (const KeywordHelp& row : keyword_help()) {
      bool is_it = false;
      for (const std::string_view word : split_words(row.words, ' ')) is_it |= is_wanted(std::string(word));
      if (is_it) found_.push_back(std::string(row.text) + "\n");
    }
  }

  void search_builtins() {
    for (const std::string& builtin : engine_.builtins().names()) {
      if (is_wanted(builtin)) found_.push_back(language_help("", builtin));
    }
  }

  void search_modules() {
    for (const std::string& module : standard_library().module_names()) {
      if (!is_name(module)) continue;
      const std::string import = "import " + module + "\n";
      if (is_wanted(module)) found_.push_back(language_help(import, module));
      const Value value = engine_.run("<help>", import + module);
      for (const auto& [name, cell] : value.as<Module>().exports) {
        if (!cell->value.is(Tag::function) || name->front() == '_') continue;
        const std::string path = module + "." + *name;
        if (is_wanted(path) | is_wanted(*name)) found_.push_back(module + "." + language_help(import, path));
      }
    }
  }

  void search_errors() {
    for (const ErrorRow& row : error_catalogue()) {
      if (is_wanted(std::string(row.name)))
        found_.push_back(fmt::format("{}, an error of the kind {}\n  {}\n", row.name, name_of(row.kind), row.when));
    }
  }

  /// Returns what help() prints of a value, after an import.
  std::string language_help(const std::string& import, const std::string& name) {
    printed_.clear();
    engine_.run("<help>", import + "help(" + name + ")");
    return printed_;
  }

  const std::string& name_;
  ProgramModel model_;
  Engine engine_;
  std::string printed_;
  std::vector<std::string> found_, known_;
};

}  // namespace

int run_help(const std::string& name) {
  if (name.empty()) {
    std::cout << ProgramModel().app.help();
    return 0;
  }
  HelpSearch search(name);
  if (search.found().empty()) {
    if (const std::string functions = search.functions(); !functions.empty()) {
      std::cout << functions;
      return 0;
    }
    const std::string hint = suggest_name(name, search.known());
    std::cerr << "tsl help: there is no " << name << (hint.empty() ? "" : "; " + hint) << "\n";
    return kExitFailed;
  }
  std::cout << fmt::format("{}", fmt::join(search.found(), "\n"));
  return 0;
}

int run_generate(const std::string& kind) {
  const ProgramModel model;
  std::cout << (kind == "man" ? man_page(model) : completion_script(model, kind));
  return 0;
}

}  // namespace tsl
