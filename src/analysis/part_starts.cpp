#include "analysis/part_starts.h"

#include <algorithm>
#include <string>

namespace tsl::analysis {

namespace {

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

bool is_in_word(char c) { return begins_word(c) || (c >= '0' && c <= '9'); }

constexpr std::string_view kDeclaring[] = {"fn", "let", "var", "import", "from"};
/// Words that may end a statement.
constexpr std::string_view kEnding[] = {"true", "false", "nil", "break", "continue", "return"};
/// Words after which a line goes on, or with which it does.
constexpr std::string_view kJoining[] = {"and", "or",  "not", "in",    "else", "try",    "catch", "finally", "fn",
                                         "let", "var", "if",  "while", "for",  "import", "from",  "as"};

template <size_t N> bool is_among(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Reads a text once, as far as brackets, strings and comments need it.
class PartScan {
 public:
  /// `has_loose_brackets`: a declaration at the start of a line closes all brackets.
  PartScan(std::string_view text, bool has_loose_brackets) : text_(text), has_loose_brackets_(has_loose_brackets) {}

  std::vector<size_t> run() {
    while (at_ < text_.size()) step();
    return std::move(starts_);
  }
  bool has_open_brackets() const { return !open_.empty(); }

 private:
  void step();
  void begin_line();
  void word();
  void string(bool is_formatted);
  void formatted(bool is_long);
  void bracket(char c);
  bool may_begin(std::string_view word) const;
  std::string_view word_at(size_t at) const {
    size_t end = at;
    while (end < text_.size() && is_in_word(text_[end])) ++end;
    return text_.substr(at, end - at);
  }
  bool is_line_start() const { return at_ == 0 || text_[at_ - 1] == '\n'; }

  const std::string_view text_;
  const bool has_loose_brackets_;
  size_t at_ = 0;
  std::vector<size_t> starts_{0};
  std::string open_;              // brackets; 'f' and 'F': the holes of an f-string, of one line and of several
  bool has_statement_ = false;    // the part has a token
  bool can_end_ = false;          // the last token may end a statement
  bool awaits_function_ = false;  // after an attribute
  size_t comments_ = std::string_view::npos;  // where comments before the next statement begin
};

/// Whether a statement may begin with a word or another character at the start of a line.
bool PartScan::may_begin(std::string_view word) const {
  if (awaits_function_ || !has_statement_) return false;
  if (!open_.empty()) return has_loose_brackets_ && is_among(kDeclaring, word);
  const bool goes_on = word == "else" || word == "catch" || word == "finally" || word == "and" || word == "or" ||
                       word == "in" || word == "not" || word == "as";
  return can_end_ && !goes_on && (!word.empty() || text_[at_] == '@');
}

void PartScan::begin_line() {
  const char c = text_[at_];
  if (c == '#') {
    if (comments_ == std::string_view::npos) comments_ = at_;
    return;
  }
  if (c == '\n' || c == '\r') return;
  if (may_begin(word_at(at_))) {
    starts_.push_back(std::min(comments_, at_));
    open_.clear();
    has_statement_ = false;
  }
  comments_ = std::string_view::npos;
  if (c == '@' && open_.empty()) awaits_function_ = true;
}

void PartScan::step() {
  if (is_line_start()) begin_line();
  const char c = text_[at_];
  if (c == '#') {
    at_ = std::min(text_.find('\n', at_), text_.size());
    return;
  }
  if (c == '\n' && !open_.empty() && open_.back() == 'f') open_.pop_back();  // it ends with its line, an error
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
    ++at_;
    return;
  }
  comments_ = std::string_view::npos;  // of a comment behind blanks
  has_statement_ = true;
  if (begins_word(c)) return word();
  if (c == '"') return string(false);
  if (c == ';') awaits_function_ = false;
  can_end_ = (c >= '0' && c <= '9') || c == ')' || c == ']' || c == '}' || c == ';';
  ++at_;
  bracket(c);
}

void PartScan::word() {
  const std::string_view word = word_at(at_);
  const bool is_prefix = (word == "f" || word == "r") && at_ + 1 < text_.size() && text_[at_ + 1] == '"';
  if (is_prefix) {
    ++at_;
    return string(word == "f");
  }
  if (word == "fn" && open_.empty()) awaits_function_ = false;
  can_end_ = is_among(kEnding, word) || !is_among(kJoining, word);
  at_ += word.size();
}

/// Reads a string from its quotes on; an f-string up to its first hole.
void PartScan::string(bool is_formatted) {
  const bool is_long = text_.substr(at_).starts_with("\"\"\"");
  at_ += is_long ? 3 : 1;
  if (is_formatted) return formatted(is_long);
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\\') ++at_;
    else if (!is_long && text_[at_] == '\n') break;
    else if (text_[at_] == '"' && (!is_long || text_.substr(at_).starts_with("\"\"\""))) {
      at_ += is_long ? 3 : 1;
      break;
    }
  }
  at_ = std::min(at_, text_.size());
  can_end_ = true;
}

/// Reads the text of an f-string up to its next hole, or its end.
void PartScan::formatted(bool is_long) {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\\') {
      ++at_;
      if (text_.substr(at_).starts_with("u{")) ++at_;  // a brace of \u{…} is no hole
    } else if (!is_long && c == '\n') {
      break;
    } else if (text_.substr(at_).starts_with("{{")) {
      ++at_;
    } else if (c == '{') {
      open_ += is_long ? 'F' : 'f';
      ++at_;
      return;
    } else if (c == '"' && (!is_long || text_.substr(at_).starts_with("\"\"\""))) {
      at_ += is_long ? 3 : 1;
      break;
    }
  }
  at_ = std::min(at_, text_.size());
  can_end_ = true;
}

void PartScan::bracket(char c) {
  if (c == '(' || c == '[' || c == '{') {
    open_ += c;
    return;
  }
  const bool is_in_hole = !open_.empty() && (open_.back() == 'f' || open_.back() == 'F');
  if (is_in_hole && (c == '}' || c == ':')) {
    const bool is_long = open_.back() == 'F';
    if (c == '}') {
      open_.pop_back();
      return formatted(is_long);
    }
    // The format of the value: up to the '}', or to a hole in it.
    while (at_ < text_.size() && text_[at_] != '}' && text_[at_] != '\n' && text_[at_] != '{') ++at_;
    return;
  }
  if ((c == ')' || c == ']' || c == '}') && !open_.empty() && !is_in_hole) open_.pop_back();
}

}  // namespace

std::vector<size_t> part_starts(std::string_view text) {
  PartScan strict(text, false);
  std::vector<size_t> starts = strict.run();
  return strict.has_open_brackets() ? PartScan(text, true).run() : starts;
}

}  // namespace tsl::analysis
