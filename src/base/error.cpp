#include "base/error.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/display_width.h"
#include "base/words.h"

namespace tsl {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::syntax: return "syntax";
    case ErrorKind::name: return "name";
    case ErrorKind::type: return "type";
    case ErrorKind::shape: return "shape";
    case ErrorKind::index: return "index";
    case ErrorKind::value: return "value";
    case ErrorKind::io: return "io";
    case ErrorKind::memory: return "memory";
    case ErrorKind::device: return "device";
    case ErrorKind::limit: return "limit";
    case ErrorKind::interrupt: return "interrupt";
    case ErrorKind::exit: return "exit";
    case ErrorKind::user: return "user";
    case ErrorKind::warning: return "warning";
  }
  return "";
}

Error make_warning(ErrorName name, std::string message, Span span, std::vector<std::string> hints) {
  Error warning{name, std::move(message), span, std::move(hints), {}};
  warning.is_warning = true;
  return warning;
}

void fail_with(ErrorName name, std::string message, std::vector<std::string> hints, std::vector<std::string> notes) {
  throw Failure(Error{name, std::move(message), {}, std::move(hints), {}, std::move(notes)});
}

void end_program(ErrorName name, std::string message) {
  Error error;
  error.name = name;
  error.message = std::move(message);
  error.is_final = true;
  throw Failure(std::move(error));
}

void fail_argument(ErrorName name, std::string_view parameter, std::string message, std::vector<std::string> hints,
                   std::vector<std::string> notes) {
  Error error{name, std::move(message), {}, std::move(hints), {}, std::move(notes)};
  error.parameter = parameter;
  throw Failure(std::move(error));
}

namespace {

constexpr const char* kRed = "\x1b[1;31m";
constexpr const char* kYellow = "\x1b[1;33m";
constexpr const char* kBlue = "\x1b[1;34m";
constexpr const char* kReset = "\x1b[0m";

// The traceback of a deep recursion shows only its two ends.
constexpr size_t kShownCallSites = 8;

// The most code points shown of a line, and of those before the caret: a longer line is cut to a window around it.
constexpr size_t kMaxShown = 120;
constexpr size_t kShownBefore = 40;

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// A line, or the part of it around the caret.
struct Excerpt {
  std::string text;
  size_t before;  // code points left of the caret, and then columns
  size_t width;   // of the caret likewise
};

/// Returns where a code point of a text begins.
size_t start_of(std::string_view text, size_t code_point) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (starts_code_point(text[at]) && code_point-- == 0) return at;
  }
  return text.size();
}

/// Replaces code points by the columns that they take on a terminal.
Excerpt in_columns(Excerpt shown) {
  const std::string text =
      shown.text + std::string(shown.before + shown.width, ' ');  // the caret may be behind the line
  const size_t begin = start_of(text, shown.before), end = start_of(text, shown.before + shown.width);
  shown.before = display_width({text.data(), begin});
  shown.width = std::max<size_t>(display_width({text.data() + begin, end - begin}), 1);
  return shown;
}

Excerpt excerpt(std::string_view line, size_t before, size_t width) {
  const auto count = static_cast<size_t>(std::count_if(line.begin(), line.end(), starts_code_point));
  Excerpt shown{"", before, width};
  if (count <= kMaxShown) {
    shown.text = line;
  } else {
    const size_t first = std::min(before > kShownBefore ? before - kShownBefore : 0, count - kMaxShown);
    const size_t end = first + kMaxShown;
    const bool is_cut = end < count;
    line.remove_prefix(start_of(line, first));
    shown.text = line.substr(0, start_of(line, kMaxShown));
    if (first > 0) shown.text = "…" + shown.text;
    if (is_cut) shown.text += "…";
    shown.before = before - first + (first > 0 ? 1 : 0);
    shown.width = before < end ? std::min(width, end - before) : 1;
  }
  shown.text = blank_controls(shown.text);  // keeps the caret under the text
  return shown;
}

/// The colours of a message, or "".
struct Colors {
  const char* accent;
  const char* blue;
  const char* plain;
};

/// Shows a line of the source with a caret under the span, and `text` behind the caret.
std::string render_place(Span span, std::string_view text, const SourceMap& sources, const Colors& colors) {
  const Source& source = sources.get(span.source);
  const uint32_t line = source.line_of(span.begin);
  const uint32_t column = source.column_of(span.begin);
  const std::string_view whole = source.line(line);
  const uint32_t line_end = source.line_start(line) + static_cast<uint32_t>(whole.size());
  const uint32_t last = std::clamp(span.end, span.begin + 1, std::max(line_end, span.begin + 1));
  uint32_t width = 0;
  for (uint32_t i = span.begin; i < last && i < source.text().size(); ++i) {
    if (starts_code_point(source.text()[i])) ++width;
  }
  const std::string number = std::to_string(line), gutter(number.size(), ' ');
  const Excerpt shown = in_columns(excerpt(whole, column - 1, std::max<uint32_t>(width, 1)));
  const auto [accent, blue, plain] = colors;
  return fmt::format("  {}-->{} {}:{}:{}\n   {}{} |{} {}\n   {}{} |{} {}{}{}{}{}{}\n", blue, plain,
                     spell_controls(source.name()), line, column, blue, number, plain, shown.text, blue, gutter, plain,
                     std::string(shown.before, ' '), accent, std::string(shown.width, '^'), plain,
                     text.empty() ? "" : " ", spell_controls(text));
}

std::string render_calls(const Error& error, const SourceMap& sources) {
  if (error.called_from.empty()) return "";
  std::string text = "  called from ";
  const size_t count = error.called_from.size();
  for (size_t i = 0; i < count; ++i) {
    if (count > kShownCallSites && i == kShownCallSites / 2) {
      const size_t skipped = count - kShownCallSites;
      text += fmt::format(", … {} more …", skipped);
      i += skipped;
    }
    const CallSite& site = error.called_from[i];
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", site.function, spell_controls(sources.location(site.span)));
  }
  return text + "\n";
}

}  // namespace

std::string render(const Error& error, const SourceMap& sources, bool color) {
  const Colors colors = {!color ? "" : error.is_warning ? kYellow : kRed, color ? kBlue : "", color ? kReset : ""};
  const std::string heading = error.is_warning ? "warning" : fmt::format("error[{}]", error.kind_text());
  std::string text = fmt::format("{}{}{}: {}\n", colors.accent, heading, colors.plain, spell_controls(error.message));
  if (error.span.valid()) text += render_place(error.span, "", sources, {colors.blue, colors.blue, colors.plain});
  for (const RelatedPlace& place : error.related) text += render_place(place.span, place.text, sources, colors);
  const auto add_line = [&](char sign, const std::string& line) {
    text += fmt::format("  {}{}{} {}\n", colors.blue, sign, colors.plain, spell_controls(line));
  };
  for (const std::string& hint : error.hints) add_line('=', hint);
  for (const std::string& note : error.notes) add_line('-', note);
  text += render_calls(error, sources);
  for (const Error& other : error.others) text += render(other, sources, color);
  return text;
}

namespace {

/// What TSL has for names of other languages.
struct Alias {
  std::string_view foreign;  // words, with a space between two
  std::string_view ours;     // a name of TSL, or ""
  std::string_view hint;     // a whole hint, if there is no such name
};

constexpr Alias kAliases[] = {
#define ALIAS(foreign, ours) {foreign, ours, ""},
#define ADVICE(foreign, hint) {foreign, "", hint},
#define ABSENT(foreign) {foreign, "", "TSL has nothing for '{}' of other libraries"},
#include "base/aliases.def"
#undef ABSENT
#undef ADVICE
#undef ALIAS
};

/// Returns the number of letters to insert, delete, replace or exchange with their neighbour to make `a` from `b`.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool is_exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

/// Whether a word is compared with names. Everything is near one or two letters; a long text takes long, and is no
/// name.
bool can_be_compared(std::string_view word) {
  constexpr size_t kShortest = 3, kLongest = 100;
  return word.size() >= kShortest && word.size() <= kLongest;
}

/// Puts the name that was written into an advice.
std::string with_name(std::string_view advice, std::string_view name) {
  std::string text(advice);
  if (const size_t hole = text.find("{}"); hole != std::string::npos) text.replace(hole, 2, name);
  return text;
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  if (!can_be_compared(word)) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;  // farther names do not help
  for (const std::string& candidate : candidates) {
    if (!can_be_compared(candidate)) continue;
    const size_t distance = edit_distance(word, candidate);
    const bool is_first_of_equals = distance == best_distance && !best.empty() && candidate < best;
    if (distance < best_distance || is_first_of_equals) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

namespace {

std::string did_you_mean(std::string_view name) { return fmt::format("did you mean '{}'?", name); }

bool contains_name(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns a name as another one is compared with that may differ in capitals and underscores: "LSTM" as "lstm".
std::string without_style(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

/// Returns the name that differs from a word in capitals and underscores alone, or in a number of axes that the word
/// ends in, as InstanceNorm2d; "" if there is none.
std::string same_name(std::string_view word, const std::vector<std::string>& names) {
  const std::string plain = without_style(word);
  constexpr size_t kAxes = 2;  // the length of "2d"
  const bool has_axes = plain.size() > kAxes && plain.back() == 'd' && plain[plain.size() - kAxes] >= '1' &&
                        plain[plain.size() - kAxes] <= '3';
  for (const std::string& wanted : {plain, has_axes ? plain.substr(0, plain.size() - kAxes) : plain}) {
    for (const std::string& name : names) {
      if (without_style(name) == wanted) return name;
    }
  }
  return "";
}

/// Returns an advice for a program that has imported the module; "" if importing it is all that the advice says.
std::string without_import(std::string advice, std::string_view module) {
  const std::string import = fmt::format("`import {}`", module);
  for (const std::string& part : {", after " + import, import + ": "}) {
    if (const size_t at = advice.find(part); at != std::string::npos) advice.erase(at, part.size());
  }
  return advice.find(import) == std::string::npos ? advice : "";
}

}  // namespace

std::string translate_name(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty()) return "";
  for (const Alias& alias : kAliases) {
    if (!has_word(alias.foreign, word)) continue;
    if (alias.ours.empty()) return with_name(alias.hint, word);
    if (contains_name(candidates, alias.ours)) return did_you_mean(alias.ours);
  }
  return "";
}

std::string suggest_member(std::string_view module, std::string_view word, const std::vector<std::string>& members,
                           const std::vector<std::string>& builtins) {
  const auto needs_no_module = [](std::string_view name) { return fmt::format("'{}' needs no module", name); };
  if (contains_name(builtins, word)) return needs_no_module(word);
  if (const std::string same = same_name(word, members); !same.empty()) return did_you_mean(same);
  if (const std::string same = same_name(word, builtins); !same.empty()) return needs_no_module(same);
  std::string advice = without_import(translate_name(word, members), module);
  if (!advice.empty()) return advice;
  for (const Alias& alias : kAliases) {
    if (has_word(alias.foreign, word) && contains_name(builtins, alias.ours)) return needs_no_module(alias.ours);
  }
  const std::string near = nearest_name(word, members);
  return near.empty() ? "" : did_you_mean(near);
}

std::string suggest_name(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty()) return "";
  const std::string translated = translate_name(word, candidates);
  if (!translated.empty()) return translated;
  const std::string near = nearest_name(word, candidates);
  if (!near.empty()) return did_you_mean(near);
  constexpr size_t kShortestMisspelt = 6;
  if (word.size() < kShortestMisspelt || !can_be_compared(word)) return "";
  for (const Alias& alias : kAliases) {  // a misspelt name of another language
    if (!contains_name(candidates, alias.ours)) continue;
    for (const std::string_view foreign : split_words(alias.foreign)) {
      if (edit_distance(word, foreign) == 1) return did_you_mean(alias.ours);
    }
  }
  return "";
}

}  // namespace tsl
