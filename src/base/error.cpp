#include "base/error.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

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
    case ErrorKind::user: return "user";
    case ErrorKind::warning: return "warning";
  }
  return "";
}

Error make_warning(std::string message, Span span, std::vector<std::string> notes) {
  Error warning{ErrorKind::warning, std::move(message), span, std::move(notes), {}};
  warning.is_warning = true;
  return warning;
}

void fail_with(ErrorKind kind, std::string message, std::vector<std::string> notes) {
  throw Failure(Error{kind, std::move(message), {}, std::move(notes), {}});
}

void fail_argument(ErrorKind kind, std::string_view parameter, std::string message, std::vector<std::string> notes) {
  Error error{kind, std::move(message), {}, std::move(notes), {}};
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
  size_t before;  // code points left of the caret
  size_t width;   // of the caret
};

Excerpt excerpt(std::string_view line, size_t before, size_t width) {
  std::vector<size_t> starts;  // where each code point begins
  for (size_t i = 0; i < line.size(); ++i) {
    if (starts_code_point(line[i])) starts.push_back(i);
  }
  Excerpt shown{std::string(line), before, width};
  if (starts.size() > kMaxShown) {
    const size_t first = std::min(before > kShownBefore ? before - kShownBefore : 0, starts.size() - kMaxShown);
    const size_t end = first + kMaxShown;
    const bool is_cut = end < starts.size();
    shown.text = line.substr(starts[first], (is_cut ? starts[end] : line.size()) - starts[first]);
    if (first > 0) shown.text = "…" + shown.text;
    if (is_cut) shown.text += "…";
    shown.before = before - first + (first > 0 ? 1 : 0);
    shown.width = before < end ? std::min(width, end - before) : 1;
  }
  const auto is_control = [](char c) { return (static_cast<unsigned char>(c) < ' ') || c == 0x7F; };
  std::replace_if(shown.text.begin(), shown.text.end(), is_control, ' ');  // keeps the caret under the text
  return shown;
}

std::string render_location(const Error& error, const SourceMap& sources, const char* accent, const char* plain) {
  const Source& source = sources.get(error.span.source);
  const uint32_t line = source.line_of(error.span.begin);
  const uint32_t column = source.column_of(error.span.begin);
  const std::string_view text = source.line(line);
  const uint32_t line_start = source.line_start(line);
  const uint32_t line_end = line_start + static_cast<uint32_t>(text.size());
  const uint32_t last = std::clamp(error.span.end, error.span.begin + 1, std::max(line_end, error.span.begin + 1));
  uint32_t width = 0;
  for (uint32_t i = error.span.begin; i < last && i < source.text().size(); ++i) {
    if (starts_code_point(source.text()[i])) ++width;
  }
  const std::string number = std::to_string(line), gutter(number.size(), ' ');
  const Excerpt shown = excerpt(text, column - 1, std::max<uint32_t>(width, 1));
  return fmt::format("  {}-->{} {}:{}:{}\n   {}{} |{} {}\n   {}{} |{} {}{}{}{}\n", accent, plain, source.name(), line,
                     column, accent, number, plain, shown.text, accent, gutter, plain, std::string(shown.before, ' '),
                     accent, std::string(shown.width, '^'), plain);
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
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", site.function, sources.location(site.span));
  }
  return text + "\n";
}

}  // namespace

std::string render(const Error& error, const SourceMap& sources, bool color) {
  const char* accent = !color ? "" : error.is_warning ? kYellow : kRed;
  const char* blue = color ? kBlue : "";
  const char* plain = color ? kReset : "";
  const std::string heading = error.is_warning ? "warning" : fmt::format("error[{}]", name_of(error.kind));
  std::string text = fmt::format("{}{}{}: {}\n", accent, heading, plain, error.message);
  if (error.span.valid()) text += render_location(error, sources, blue, plain);
  for (const std::string& note : error.notes) text += fmt::format("     {}={} {}\n", blue, plain, note);
  text += render_calls(error, sources);
  return text;
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;  // farther names do not help
  std::vector<size_t> row;
  for (const std::string& candidate : candidates) {
    row.resize(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t substitute = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    const bool is_first_of_equals = row.back() == best_distance && !best.empty() && candidate < best;
    if (row.back() < best_distance || is_first_of_equals) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace tsl
