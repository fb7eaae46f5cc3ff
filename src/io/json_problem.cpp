#include "io/json_problem.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/count_work.h"
#include "value/utf8.h"

namespace tsl {

namespace {

bool is_json_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// What is taken for a minus sign: the minus of mathematics, a hyphen, the dashes.
constexpr std::string_view kMinuses[] = {"\u2212", "\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\uFF0D"};

bool begins_with_minus(std::string_view text) {
  return std::any_of(std::begin(kMinuses), std::end(kMinuses), [&](auto minus) { return text.starts_with(minus); });
}

/// Returns the bytes of the character of a word or a number at a place; 0 if none is there.
size_t word_character(std::string_view text, size_t at) {
  if (at >= text.size()) return 0;
  const char c = text[at];
  if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+' || c == '-' || c == '.') return 1;
  return begins_with_minus(text.substr(at)) ? 3 : 0;
}

size_t word_end(std::string_view text, size_t at) {
  while (const size_t bytes = word_character(text, at)) {
    count_work(1);
    at += bytes;
  }
  return at;
}

/// Returns the end of the string at a place, behind its quote; the text's end if it has none.
size_t string_end(std::string_view text, size_t begin) {
  for (size_t at = begin + 1; at < text.size(); ++at) {
    count_work(1);
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return text.size();
}

size_t token_end(std::string_view text, size_t begin) {
  if (text[begin] == '"') return string_end(text, begin);
  const size_t end = word_end(text, begin);
  return end > begin ? end : begin + utf8_width(text, begin);
}

}  // namespace

size_t last_token(std::string_view text, size_t end) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  size_t last = 0;
  for (size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; at < std::min(end, text.size());) {
    count_work(2);
    if (std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    last = at;
    at = token_end(text, at);
  }
  return last;
}

std::string_view token_at(std::string_view text, size_t begin) {
  return text.substr(begin, token_end(text, begin) - begin);
}

namespace {

/// Says what keeps a word from being a number; nothing if it is one.
std::string problem_of_number(std::string_view word) {
  if (begins_with_minus(word)) return "its minus sign is another character than '-'";
  const auto at = [&](size_t i) { return i < word.size() ? word[i] : '\0'; };
  size_t i = 0;
  const auto skip_digits = [&] {
    const size_t begin = i;
    // bounded: word_end() has counted the word
    while (is_json_digit(at(i))) ++i;
    return i > begin;
  };
  if (at(0) == '+') return "no '+' stands before a number";
  if (at(0) == '-') ++i;
  if (at(i) == '.') return "a digit stands before the point, as in 0.5";
  const bool begins_with_0 = at(i) == '0';
  const size_t whole = i;
  if (!skip_digits()) return "a digit follows '-'";
  if (begins_with_0 && (at(i) == 'x' || at(i) == 'X')) return "JSON has no hexadecimal numbers";
  if (begins_with_0 && i > whole + 1) return "no digits follow a 0 at its beginning";
  if (at(i) == '.') {
    ++i;
    if (!skip_digits()) return "a digit follows the point, as in 1.0";
  }
  if (at(i) == 'e' || at(i) == 'E') {
    ++i;
    if (at(i) == '+' || at(i) == '-') ++i;
    if (!skip_digits()) return "a digit follows the 'e', as in 1e5";
  }
  if (at(i) == '_') return "no '_' stands between its digits";
  return i < word.size() ? fmt::format("'{}' is no part of it", word.substr(i)) : "";
}

/// Returns the problem of an escape, whose backslash is at a place; nothing if it is one of JSON.
std::optional<JsonProblem> problem_of_escape(std::string_view text, size_t at) {
  const char c = at + 1 < text.size() ? text[at + 1] : '\0';
  if (c == 'u') {
    // bounded: four digits
    for (size_t i = at + 2; i < at + 6; ++i) {
      if (i >= text.size() || !is_hex(text[i]))
        return JsonProblem{at, "four hexadecimal digits follow '\\u'", "`\\u00e9` is é"};
    }
    const std::string_view code = text.substr(at + 2, 4);
    const bool is_surrogate = (code[0] == 'd' || code[0] == 'D') && std::string_view("89abAB").find(code[1]) < 6;
    const bool is_low = (code[0] == 'd' || code[0] == 'D') && std::string_view("cdefCDEF").find(code[1]) < 8;
    const std::string_view next = text.substr(std::min(at + 6, text.size()), 4);
    const bool has_low = next.size() == 4 && (next.starts_with("\\ud") || next.starts_with("\\uD")) &&
                         std::string_view("cdefCDEF").find(next[3]) < 8;
    if (is_low || (is_surrogate && !has_low))
      return JsonProblem{at, fmt::format("'\\u{}' is half of a character", code), "a surrogate stands before another"};
    return std::nullopt;
  }
  if (c != '\0' && std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) return std::nullopt;
  return JsonProblem{at, fmt::format("JSON has no escape '{}'", text.substr(at, 1 + utf8_width(text, at + 1))),
                     "a backslash itself is written `\\\\`"};
}

std::optional<JsonProblem> problem_of_string(std::string_view text, size_t begin) {
  for (size_t at = begin + 1; at < text.size(); ++at) {
    count_work(1);
    const auto c = static_cast<unsigned char>(text[at]);
    if (c == '"') return std::nullopt;
    if (c == '\n' || c == '\r')
      return JsonProblem{begin, "a string is not closed in its line", "a line break in a string is written `\\n`"};
    if (c == '\t') return JsonProblem{at, "a string holds a tab", "a tab in a string is written `\\t`"};
    if (c < ' ')
      return JsonProblem{at, fmt::format("a string holds the control character U+{:04X}", c),
                         fmt::format("it is written `\\u{:04x}`", c)};
    if (c != '\\') continue;
    if (auto problem = problem_of_escape(text, at)) return problem;
    ++at;
    if (at < text.size() && text[at] == 'u') {
      const bool is_pair = text.substr(std::min(at + 5, text.size())).starts_with("\\u") &&
                           (text[at + 1] == 'd' || text[at + 1] == 'D') &&
                           std::string_view("89abAB").find(text[at + 2]) < 6;
      at += is_pair ? 10 : 4;
    }
  }
  return JsonProblem{begin, "a string is not closed", ""};
}

}  // namespace

std::optional<JsonProblem> problem_of_token(std::string_view text, size_t begin) {
  if (begin >= text.size()) return std::nullopt;
  const char c = text[begin];
  if (c == '"') return problem_of_string(text, begin);
  const bool is_number = is_json_digit(c) || c == '-' || c == '+' || c == '.' || begins_with_minus(text.substr(begin));
  if (!is_number) return std::nullopt;
  const std::string_view word = token_at(text, begin);
  std::string why = problem_of_number(word);
  if (why.empty()) return std::nullopt;
  return JsonProblem{begin, fmt::format("'{}' is no number: {}", word, why), ""};
}

bool is_wrong_word(std::string_view text, size_t begin) {
  if (word_character(text, begin) == 0) return false;
  if (problem_of_token(text, begin)) return true;
  const std::string_view word = token_at(text, begin);
  return std::isalpha(static_cast<unsigned char>(word[0])) != 0 && word != "true" && word != "false" && word != "null";
}

}  // namespace tsl
