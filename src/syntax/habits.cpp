#include "syntax/habits.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "TslLexer.h"
#include "base/count_work.h"
#include "base/error.h"
#include "base/words.h"
#include "syntax/raw_tokens.h"
#include "syntax/unicode.h"

namespace tsl {

using Lexer = grammar::TslLexer;

namespace {

constexpr int64_t kHabitWork = 32;

/// Where a habit shows: the innermost bracket around it.
enum class Within : uint8_t { any, statement, parens, index, braces };

struct Habit {
  Within within;
  std::string_view pattern;
  std::string_view hint;
};

constexpr Habit kHabits[] = {
#define HABIT(within, pattern, hint) {Within::within, pattern, hint},
#include "syntax/habits.def"
#undef HABIT
};

/// The line of an error, from its statement's start, and the patterns that it matches.
class HabitMatcher {
 public:
  HabitMatcher(std::string_view text, uint32_t statement, uint32_t at);

  std::string hint() const;

 private:
  std::string misspelt_keyword() const;
  bool matches_at(const std::vector<std::string_view>& words, size_t first) const;
  bool matches(const std::vector<std::string_view>& words, size_t word, size_t token) const;
  bool matches_token(std::string_view word, size_t token) const;
  bool touches_error(size_t end) const { return end >= error_; }
  std::string fill(std::string_view hint, size_t first) const;
  std::string_view text_of(size_t token) const {
    return text_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
  }

  std::string_view text_;
  std::vector<RawToken> tokens_;
  size_t error_ = 0;  // index of the token at fault; their number at the end of the line
  Within within_ = Within::statement;
  size_t innermost_ = 0;  // index of the innermost bracket that is open at the error
};

HabitMatcher::HabitMatcher(std::string_view text, uint32_t statement, uint32_t at) : text_(text) {
  const auto line_end = static_cast<uint32_t>(std::min(text.find('\n', at), text.size()));
  tokens_ = raw_tokens(text, statement, line_end);
  std::vector<std::pair<Within, size_t>> open;
  error_ = tokens_.size();
  // bounded: raw_tokens() has counted them
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].end > at) {
      error_ = i;
      break;
    }
    switch (text[tokens_[i].begin]) {
      case '(': open.emplace_back(Within::parens, i); break;
      case '[': open.emplace_back(Within::index, i); break;
      case '{': open.emplace_back(Within::braces, i); break;
      case ')':
      case ']':
      case '}':
        if (!open.empty()) open.pop_back();
        break;
      default: break;
    }
  }
  if (!open.empty()) std::tie(within_, innermost_) = open.back();
}

std::string HabitMatcher::hint() const {
  // A new line within brackets shows that one was not closed.
  const bool is_unclosed = within_ != Within::statement && error_ > 0 && tokens_[error_ - 1].type == Lexer::NEWLINE;
  if (is_unclosed) return "";
  // bounded: the known habits
  for (const Habit& habit : kHabits) {
    if (habit.within != Within::any && habit.within != within_) continue;
    const std::vector<std::string_view> words = split_words(habit.pattern, ' ');
    // bounded: matches_at() counts
    for (size_t first = habit.within == Within::any ? 0 : innermost_; first <= std::min(error_, tokens_.size());
         ++first) {
      if (matches_at(words, first)) return fill(habit.hint, first);
    }
  }
  return misspelt_keyword();
}

/// Returns a hint for a statement that begins with nearly a keyword.
std::string HabitMatcher::misspelt_keyword() const {
  if (tokens_.empty() || error_ != 1 || tokens_[0].type != Lexer::NAME) return "";
  const std::string near = nearest_name(text_of(0), {"let", "var", "return", "while", "for", "break", "continue",
                                                     "import", "from", "try", "catch", "else"});
  return near.empty() ? "" : fmt::format("did you mean '{}'?", near);
}

/// Whether the words match tokens from `first` on, up to the error or beyond.
bool HabitMatcher::matches_at(const std::vector<std::string_view>& words, size_t first) const {
  if (words.front() != "^") return matches(words, 0, first);
  return first == 0 && matches(words, 1, 0);
}

bool HabitMatcher::matches(const std::vector<std::string_view>& words, size_t word, size_t token) const {
  if (word == words.size()) return touches_error(token);
  if (words[word] == "$") return token == tokens_.size() && matches(words, word + 1, token);
  if (words[word] == "...") {
    for (; token <= tokens_.size(); ++token) {
      count_work(kHabitWork);
      if (matches(words, word + 1, token)) return true;
    }
    return false;
  }
  return token < tokens_.size() && matches_token(words[word], token) && matches(words, word + 1, token + 1);
}

/// Compares a token with a word of a pattern; habits.def describes them.
bool HabitMatcher::matches_token(std::string_view word, size_t token) const {
  if (word.size() > 1 && word.front() == '~') {
    if (token == 0 || tokens_[token - 1].end != tokens_[token].begin) return false;
    word.remove_prefix(1);
  }
  const size_t type = tokens_[token].type;
  if (word == "ANY") return true;
  if (word == "NAME") return type == Lexer::NAME;
  if (word == "NUMBER") return type == Lexer::NUMBER;
  if (word == "DOLLAR") return text_of(token) == "$";
  if (word == "ELLIPSIS") return type == Lexer::ELLIPSIS;
  if (word == "STRING") return type == Lexer::STRING;
  if (word == "VALUE") return type == Lexer::NAME || type == Lexer::NUMBER || type == Lexer::STRING;
  const std::string_view text = text_of(token);
  if (word == text) return true;
  const bool is_choice = (word.front() >= 'A' && word.front() <= 'Z') || (word.front() >= 'a' && word.front() <= 'z');
  if (!is_choice) return false;
  const std::vector<std::string_view> choices = split_words(word, '|');
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

/// Replaces {0}, {1}, … by the tokens of the match.
std::string HabitMatcher::fill(std::string_view hint, size_t first) const {
  std::string text;
  // bounded: the text of a hint
  for (size_t i = 0; i < hint.size(); ++i) {
    const bool is_hole =
        hint[i] == '{' && i + 2 < hint.size() && hint[i + 1] >= '0' && hint[i + 1] <= '9' && hint[i + 2] == '}';
    if (!is_hole) {
      text += hint[i];
      continue;
    }
    const size_t token = first + static_cast<size_t>(hint[i + 1] - '0');
    text += token < tokens_.size() ? text_of(token) : "…";
    i += 2;
  }
  return text;
}

}  // namespace

std::string habit_hint(std::string_view text, uint32_t statement, uint32_t at) {
  constexpr size_t kLongest = size_t{1} << 14;  // bytes; patterns with "..." take the square of them
  if (const Lookalike* meant = lookalike(decode_utf8(text.substr(at)).value)) return std::string(meant->hint);
  const size_t line_end = std::min(text.find('\n', at), text.size());
  return line_end - statement > kLongest ? "" : HabitMatcher(text, statement, at).hint();
}

}  // namespace tsl
