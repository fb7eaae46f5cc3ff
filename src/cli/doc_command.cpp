// `tsl doc FOLDER`: writes reference pages in Markdown, from the declarations that `tsl help` shows.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/error_names.h"
#include "base/words.h"
#include "cli/command_table.h"
#include "cli/reference_examples.h"
#include "engine/library.h"
#include "io/atomic_file.h"
#include "io/file_system.h"
#include "value/builtin.h"

namespace tsl {

namespace {

namespace fs = std::filesystem;

/// An entry of a page: a name, and what is said about it.
struct DocEntry {
  std::string name, declaration, text;
  std::string example{};  // code, with what it prints
};

struct DocPage {
  std::string file, title, text;
  std::vector<DocEntry> entries;
};

/// Returns documentation as Markdown, in which it means the same: outside of code, signs are no marks.
std::string as_markdown(std::string_view doc) {
  constexpr std::string_view kMarks = "*_<[]|\\#";
  std::string text;
  bool is_code = false;
  for (const char c : doc) {
    if (c == '`') is_code = !is_code;
    if (!is_code && kMarks.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

/// Divides what help() shows into the declaration and the text below it.
DocEntry as_entry(std::string name, const std::string& help) {
  const size_t end = std::min(help.find('\n'), help.size());
  DocEntry entry{std::move(name), help.substr(0, end), ""};
  for (const std::string_view line : split_words(std::string_view(help).substr(end), '\n'))
    entry.text += fmt::format("{}\n", line.substr(std::min(line.find_first_not_of(' '), line.size())));
  return entry;
}

/// Returns the examples of docs/reference/ by their names.
std::map<std::string, std::string, std::less<>> read_examples() {
  constexpr std::string_view kMark = "# ";
  std::map<std::string, std::string, std::less<>> examples;
  for (const LibrarySource& file : reference_examples()) {
    std::string* example = nullptr;
    for (const std::string_view line : split_words(file.text, '\n')) {
      const bool is_name = line.starts_with(kMark) && line.find_first_of(": ", kMark.size()) == std::string_view::npos;
      if (is_name) example = &examples[std::string(line.substr(kMark.size()))];
      else if (example) *example += fmt::format("{}\n", line);
    }
  }
  return examples;
}

/// Asks help() of the language about its names.
class HelpReader {
 public:
  HelpReader() : engine_(options()) {
    engine_.output = [this](std::string_view text) { printed_ += text; };
  }

  DocPage builtins() {
    DocPage page{"builtins.md", "Functions of the language", "They stand in no module.", {}};
    for (const std::string& name : engine_.builtins().names()) page.entries.push_back(entry("", name));
    return page;
  }

  /// Returns the page of a module, with all that it exports, in alphabetical order.
  DocPage module(const std::string& name) {
    const std::string import = "import " + name + "\n";
    DocPage page{name + ".md", "The module " + name, fmt::format("`import {}` binds it.", name), {}};
    const Value value = engine_.run("<doc>", import + name);
    for (const auto& [key, cell] : value.as<Module>().exports) {
      if (cell->value.is(Tag::function) && key->front() != '_')
        page.entries.push_back(entry(import, name + "." + *key));
    }
    std::sort(page.entries.begin(), page.entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return page;
  }

 private:
  static EngineOptions options() {
    EngineOptions options;
    options.device = "cpu";
    return options;
  }

  DocEntry entry(const std::string& import, const std::string& name) {
    printed_.clear();
    engine_.run("<doc>", import + "help(" + name + ")");
    DocEntry entry = as_entry(name, printed_);
    if (const auto known = examples_.find(name); known != examples_.end()) entry.example = known->second;
    return entry;
  }

  const std::map<std::string, std::string, std::less<>> examples_ = read_examples();
  Engine engine_;
  std::string printed_;
};

DocPage page_of_errors() {
  DocPage page{"errors.md", "Errors", "The names are those of `e.name` in `catch e`, and of hosts.", {}};
  for (const ErrorRow& row : error_catalogue())
    page.entries.push_back(
        {std::string(row.name), fmt::format("error[{}]", name_of(row.kind)), fmt::format("{}\n", row.when)});
  return page;
}

/// Returns rows of a table for options, under the headings of their groups.
std::string rows_of(const CLI::App& app) {
  std::string text, group;
  for (const OptionText& option : options_of(app)) {
    if (option.group != group) text += fmt::format("\n### {}\n\n| option | |\n|---|---|\n", group = option.group);
    const std::string names = option.short_name.empty() ? option.name : option.short_name + ", " + option.name;
    const std::string value = option.value.empty() ? "" : " " + option.value;
    text += fmt::format("| {} | {} |\n", as_markdown(names + value), as_markdown(option.text));
  }
  return text;
}

DocPage page_of_options() {
  const ProgramModel model;
  DocPage page{"options.md", "Commands and options", "", {}};
  page.text = "## tsl\n" + rows_of(model.app);
  for (const CommandRow& row : command_rows()) {
    page.text += fmt::format("\n## tsl {} {}\n\n{}\n", row.name, as_markdown(row.arguments), as_markdown(row.text));
    page.text += rows_of(*model.app.get_subcommand(row.name));
  }
  return page;
}

std::string as_text(const DocPage& page) {
  std::string text = fmt::format("# {}\n\n{}\n", page.title, page.text);
  for (const DocEntry& entry : page.entries) {
    text += fmt::format("\n## {}\n\n```text\n{}\n```\n\n{}", as_markdown(entry.name), entry.declaration,
                        as_markdown(entry.text));
    if (!entry.example.empty()) text += fmt::format("\n```tsl\n{}```\n", entry.example);
  }
  return text;
}

}  // namespace

int run_doc(const std::string& folder) {
  try {
    HelpReader reader;
    std::vector<DocPage> pages = {reader.builtins()};
    for (const std::string& module : standard_library().module_names()) {
      if (module.find('/') == std::string::npos) pages.push_back(reader.module(module));
    }
    pages.push_back(page_of_options());
    pages.push_back(page_of_errors());
    make_folder(folder);
    std::string index = "# Reference\n\nWritten by `tsl doc`, from the declarations.\n\n";
    for (const DocPage& page : pages) {
      write_text_file((fs::path(folder) / page.file).string(), as_text(page));
      index += fmt::format("- [{}]({}){}\n", page.title, page.file,
                           page.entries.empty() ? "" : fmt::format(": {} entries", page.entries.size()));
    }
    write_text_file((fs::path(folder) / "index.md").string(), index);
    std::cout << fmt::format("wrote {} pages in {}\n", pages.size() + 1, folder);
    return 0;
  } catch (const Failure& failure) { return report_error(failure.error(), SourceMap(), ErrorForm()); }
}

}  // namespace tsl
