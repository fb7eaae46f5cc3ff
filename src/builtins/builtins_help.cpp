// Defines help: what a value is, and the functions that a word means.
#include <algorithm>

#include "base/count_work.h"
#include "base/error.h"
#include "base/words.h"
#include "builtins/builtins.h"
#include "builtins/library_help.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "value/signature.h"
#include "vm/operators.h"

namespace tsl {

namespace {

constexpr int64_t kNameWork = 256;  // to describe what has a name

std::string module_help(Context& context, const Module& module) {
  std::string text = with_doc("module " + module.name, module.doc);
  for (const auto& [name, cell] : module.exports) {
    count_work(kNameWork);
    if (context.runtime().is_tracing()) context.runtime().enter(*cell);
    const bool is_function = cell->is_set && cell->value.is(Tag::function);
    text += "\n  " + (is_function ? declaration_text(*cell->value.as<Function>().info, context.sources()) : *name);
  }
  return text;
}

std::string help_text(Context& context, const Value& v) {
  if (v.is(Tag::builtin)) {
    const Builtin& builtin = *v.as<BuiltinFunction>().builtin;
    return with_doc(std::string(builtin.signature), builtin.doc);
  }
  if (v.is(Tag::function))
    return with_doc(declaration_text(*v.as<Function>().info, context.sources()), v.as<Function>().info->doc);
  if (v.is(Tag::module)) return module_help(context, v.as<Module>());
  if (v.is(Tag::dtype))
    return fmt::format("{}(x: array)\n  x as a tensor of {} elements", name_of(v.dtype()), name_of(v.dtype()));
  return fmt::format("{}: {}", type_name(v), to_repr(context, v));
}

/// Breaks names into lines that fit a terminal.
std::string list_names(const std::vector<std::string>& names) {
  constexpr size_t kMaxLine = 100;
  std::string text;
  size_t line = kMaxLine;
  for (const std::string& name : names) {
    count_work(kNameWork);
    if (line + 1 + name.size() > kMaxLine) {
      text += "\n ";
      line = 1;
    }
    text += " " + name;
    line += 1 + name.size();
  }
  return text;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  polled_each(lower.size(), 2, [&](size_t i) {
    char& c = lower[i];
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

/// Returns a line of a list: a name and the first line of what is said about it.
std::string help_line(std::string_view name, std::string_view doc) {
  return fmt::format("\n  {:<16} {}", name, doc.substr(0, doc.find('\n')));
}

/// What help("word") lists of a function.
struct HelpEntry {
  std::string name, declaration, doc;
};

constexpr int kFits = 4;
constexpr size_t kShown = 24;  // lines of help("word") that fit a screen

bool is_part_of_word(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Whether a text has `wanted` as a word, with or without a plural's -s.
bool has_word(std::string_view text, std::string_view wanted) {
  for (size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + 1)) {
    count_work(1);
    size_t end = at + wanted.size();
    if (end < text.size() && text[end] == 's') ++end;
    if ((at == 0 || !is_part_of_word(text[at - 1])) && (end == text.size() || !is_part_of_word(text[end]))) return true;
  }
  return false;
}

/// How well an entry fits a text in lower case: its name begins so, its name has it, its help has the word, its help
/// has it; kFits: not at all. Of one or two letters, a part of a word says nothing.
int fit_of(const HelpEntry& entry, const std::string& wanted) {
  constexpr size_t kShort = 2;
  const std::string name = in_lower_case(entry.name), help = in_lower_case(entry.declaration + entry.doc);
  const std::string_view own = std::string_view(name).substr(name.find('.') + 1);  // npos + 1 is 0
  if (own.starts_with(wanted)) return 0;
  const bool is_short = wanted.size() <= kShort;
  if (!is_short && name.find(wanted) != std::string::npos) return 1;
  if (has_word(help, wanted)) return 2;
  return !is_short && help.find(wanted) != std::string::npos ? 3 : kFits;
}

std::vector<HelpEntry> help_entries(Context& context) {
  Builtins& builtins = context.builtins();
  std::vector<HelpEntry> entries;
  for (const std::string& name : builtins.names()) {
    count_work(kNameWork);
    const std::string help = help_text(context, *builtins.find(context.names().intern(name)));
    const size_t heading = std::min(help.find("\n  "), help.size());
    entries.push_back({name, help.substr(0, heading), help.substr(std::min(heading + 3, help.size()))});
  }
  for (ModuleFunction& function : library_functions(builtins.library_sources())) {
    count_work(kNameWork);
    entries.push_back({std::move(function.path), std::move(function.declaration), std::move(function.doc)});
  }
  return entries;
}

/// Lists entries, each of them once.
class HelpList {
 public:
  explicit HelpList(Context& context) : entries_(help_entries(context)), is_listed_(entries_.size()) {}

  /// Returns lines for the entries of these names; a name without an entry is that of a module.
  std::string of_names(const std::vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names) {  // bounded: by the table of topics
      const size_t at = find(name);
      text += at < entries_.size() ? line(at) : help_line(name, "a module: `import " + std::string(name) + "`");
    }
    return text;
  }

  /// Returns lines for the other entries that contain a text in lower case, best first; unless `all`, a screen of them.
  std::string with_text(const std::string& wanted, bool all) {
    std::vector<size_t> found[kFits];
    for (size_t i = 0; i < entries_.size(); ++i) {
      count_work(kNameWork);
      const int fit = is_listed_[i] ? kFits : fit_of(entries_[i], wanted);
      if (fit < kFits) found[fit].push_back(i);
    }
    std::string text;
    size_t shown = 0, left = 0;
    for (const std::vector<size_t>& alike : found) {
      for (const size_t i : alike) {
        count_work(kNameWork);
        if (all || shown < kShown) text += line(i), ++shown;
        else ++left;
      }
    }
    return left == 0 ? text : text + fmt::format("\n  … and {} more: `help(\"{}\", all: true)`", left, wanted);
  }

  void leave_out(std::string_view name) {
    if (const size_t at = find(name); at < entries_.size()) is_listed_[at] = true;
  }

 private:
  size_t find(std::string_view name) const {
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const HelpEntry& e) { return e.name == name; });
    return static_cast<size_t>(at - entries_.begin());
  }
  std::string line(size_t at) {
    if (is_listed_[at]) return "";
    is_listed_[at] = true;
    return help_line(entries_[at].name, entries_[at].doc);
  }

  std::vector<HelpEntry> entries_;
  std::vector<bool> is_listed_;
};

/// Returns the names that newcomers look for with a word in lower case, best first.
std::vector<std::string_view> names_of_topic(std::string_view word) {
  std::string_view singular = word;
  if (singular.ends_with('s')) singular.remove_suffix(1);
  // bounded: by the table of topics
  for (const HelpTopic& topic : help_topics()) {
    // bounded: likewise
    for (std::string_view known : split_words(topic.words, ',')) {
      known.remove_prefix(known.starts_with(' ') ? 1 : 0);
      if (known == word || known == singular) return split_words(topic.names);
    }
  }
  return {};
}

/// Returns the help of the keyword, and that of the builtin or the module of that name, or of the functions of modules;
/// "" if there is none.
std::string help_of_name(Context& context, const std::string& word) {
  std::string text;
  // bounded: by the language's keywords
  for (const KeywordHelp& row : keyword_help()) {
    const std::vector<std::string_view> words = split_words(row.words);
    if (std::find(words.begin(), words.end(), word) != words.end()) text = row.text;
  }
  const Value* const named = context.builtins().find(context.names().find(word));
  const std::string help =
      named ? help_text(context, *named) : help_in_modules(context.builtins().library_sources(), word);
  return text + (text.empty() || help.empty() ? "" : "\n") + help;
}

/// Returns the help of what has that name; with it, or without one, a line for each function that a person may mean.
/// `all`: more than a screen of them.
std::string search_help(Context& context, const std::string& word, bool all) {
  const std::string wanted = in_lower_case(word);
  const std::vector<std::string_view> topic = names_of_topic(wanted);
  const std::string named = help_of_name(context, word);
  if (!named.empty() && topic.empty()) return named;
  HelpList list(context);
  if (!named.empty()) {
    list.leave_out(word);
    return named + "\nsee also:" + list.of_names(topic);
  }
  const std::string meant = list.of_names(topic);
  const std::string others = list.with_text(wanted, all);
  std::string text = meant.empty() ? "" : fmt::format("functions for '{}':{}", word, meant);
  if (!others.empty())
    text += fmt::format("{}functions whose help contains '{}':{}", meant.empty() ? "" : "\n", word, others);
  const std::vector<std::string> names = context.builtins().names();
  const std::string hint = text.empty() ? suggest_name(word, names) : translate_name(word, names);
  if (text.empty()) text = fmt::format("no function's help contains '{}'", word);
  return hint.empty() ? text : text + "\n  = " + hint;
}

Value help_builtin(Context& context, Args args) {
  std::string text;
  if (args[0].is_nil()) {
    text = "help(f) shows what f takes and does, help(\"word\") searches. Builtins:" +
           list_names(context.builtins().names());
  } else if (args[0].is(Tag::string)) {
    text = search_help(context, args[0].as<String>().text, truth(context, args[1]));
  } else {
    text = help_text(context, args[0]);
  }
  context.runtime().effect_print(make_string(std::move(text)));
  return Value();
}

constexpr Builtin kHelpRows[] = {
    with_effect(
        {"help", "help(f: any = nil, all: bool = false)",
         "prints what a function takes and does; of a str, what it names or the functions whose help contains it, best "
         "first;\n"
         "all: also those that are more than a screen",
         help_builtin, "host"}),
};

}  // namespace

std::span<const Builtin> help_builtins() { return kHelpRows; }

}  // namespace tsl
