// Formats source text token by token. The author's line breaks stay; indentation, the spaces within a line, and how
// many blank lines there are follow from the tokens. Formatting its own result changes nothing.
#include "syntax/source_format.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "TslParser.h"
#include "base/error_names.h"
#include "base/intern.h"
#include "syntax/parser.h"
#include "syntax/token_source.h"

namespace tsl {

using Tokens = grammar::TslParser;

namespace {

constexpr size_t kIndent = 2;      // columns a level
constexpr size_t kCommentGap = 2;  // columns between code and the comment behind it

/// A token or a comment. An f-string is one token, which is kept as it is.
struct Item {
  size_t type = 0;
  std::string_view text;
  uint32_t begin = 0;
  bool is_comment = false;
  bool starts_statement = false;  // of a comment: whether what follows it does
  size_t newlines = 0;            // before it, since the item before
};

bool is_one_of(size_t type, std::initializer_list<size_t> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_opener(size_t type) {
  return is_one_of(type, {Tokens::PAREN_OPEN, Tokens::BRACKET_OPEN, Tokens::BRACE_OPEN, Tokens::RECORD_OPEN});
}

bool is_closer(size_t type) {
  return is_one_of(type, {Tokens::PAREN_CLOSE, Tokens::BRACKET_CLOSE, Tokens::BRACE_CLOSE});
}

/// Whether an operand ends with this token, so that a '-' after it subtracts and a '(' calls.
bool ends_operand(size_t type) {
  return is_closer(type) || is_one_of(type, {Tokens::NAME, Tokens::NUMBER, Tokens::STRING, Tokens::FSTRING_CLOSE,
                                             Tokens::TRUE, Tokens::FALSE, Tokens::NIL});
}

/// Whether a block follows that is indented from the line of this keyword, wherever its brace is.
bool heads_block(size_t type) {
  return is_one_of(type, {Tokens::FN, Tokens::IF, Tokens::ELSE, Tokens::WHILE, Tokens::FOR, Tokens::TRY, Tokens::CATCH,
                          Tokens::FINALLY});
}

bool continues_block(size_t type) { return type == Tokens::ELSE || type == Tokens::CATCH || type == Tokens::FINALLY; }

std::string_view without_trailing_blanks(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\f");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// ---- Reading -------------------------------------------------------------------------------------------

/// Lists the tokens of a source without END and EOF.
std::vector<Item> read_tokens(const Source& source, TokenSource& tokens) {
  const std::string_view text = source.text();
  std::vector<Item> items;
  bool is_after_end = true;
  for (auto token = tokens.nextToken(); token->getType() != antlr4::Token::EOF; token = tokens.nextToken()) {
    const size_t type = token->getType();
    if (type == Tokens::END) {
      is_after_end = true;
      continue;
    }
    const auto begin = static_cast<uint32_t>(token->getStartIndex());
    size_t end = token->getStopIndex() + 1, last = type;
    for (size_t depth = type == Tokens::FSTRING_OPEN ? 1 : 0; depth > 0 && last != antlr4::Token::EOF;) {
      token = tokens.nextToken();
      last = token->getType();
      if (last == Tokens::FSTRING_OPEN) ++depth;
      if (last == Tokens::FSTRING_CLOSE) --depth;
      end = token->getStopIndex() + 1;
    }
    items.push_back({last, text.substr(begin, end - begin), begin, false, is_after_end, 0});
    is_after_end = last == Tokens::BRACE_OPEN;
  }
  return items;
}

/// Lists the tokens and comments of a source in their order.
std::vector<Item> read_items(const Source& source, uint32_t id) {
  TokenSource tokens(source, id);
  std::vector<Item> items = read_tokens(source, tokens);
  const std::string_view text = source.text();
  for (const Span& span : tokens.comments()) {
    const std::string_view comment = without_trailing_blanks(text.substr(span.begin, span.end - span.begin));
    items.push_back({Tokens::COMMENT, comment, span.begin, true, true, 0});
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.begin < b.begin; });
  size_t end = 0;
  for (Item& item : items) {
    item.newlines = static_cast<size_t>(std::count(text.begin() + end, text.begin() + item.begin, '\n'));
    end = item.begin + item.text.size();
  }
  for (size_t i = items.size(); i-- > 1;) {
    const Item& next = items[i];
    if (items[i - 1].is_comment)
      items[i - 1].starts_statement = next.starts_statement || is_closer(next.type) || continues_block(next.type);
  }
  return items;
}

// ---- Spaces --------------------------------------------------------------------------------------------

/// The token before a place in a line, and what it depends on.
struct Before {
  size_t type = 0;
  bool is_prefix = false;    // a '-' or '+' that is a sign, a '~', or the '@' of an attribute
  bool is_in_index = false;  // whether the innermost open bracket is that of x[1:5]
};

bool is_range_token(size_t type) {
  return is_one_of(type, {Tokens::RANGE, Tokens::CLOSED_RANGE, Tokens::OPEN_RANGE, Tokens::LEFT_OPEN_RANGE});
}

/// Whether a space stands between two tokens of one statement and line. `closes_record` tells the '}' of a record.
bool needs_space(const Before& before, size_t next, bool closes_record) {
  const size_t last = before.type;
  if (last == Tokens::COMMA) return !(is_closer(next) && (next != Tokens::BRACE_CLOSE || closes_record));
  if (is_opener(last) && last != Tokens::BRACE_OPEN) return false;
  if (is_one_of(next, {Tokens::PAREN_CLOSE, Tokens::BRACKET_CLOSE, Tokens::COMMA, Tokens::COLON})) return false;
  if (closes_record || before.is_prefix) return false;
  if (last == Tokens::COLON) return !before.is_in_index;
  if (last == Tokens::DOT || next == Tokens::DOT || last == Tokens::ELLIPSIS) return false;
  if (is_range_token(last)) return next == Tokens::ASSIGN;  // not to be read as '..='
  if (is_range_token(next)) return !ends_operand(last);
  if (next == Tokens::PAREN_OPEN || next == Tokens::BRACKET_OPEN) return !ends_operand(last) && last != Tokens::FN;
  return true;
}

// ---- Lines ---------------------------------------------------------------------------------------------

struct Line {
  bool has_blank_before = false;
  size_t indent = 0;
  std::string code;
  std::string_view comment;
  size_t comment_column = 0;  // in the source; 0 if there is no comment behind code

  size_t width() const { return indent + width_of(code); }
};

/// An open bracket, or the text outside all of them.
struct Bracket {
  size_t type = 0;
  bool is_index = false;     // that of x[1:5], not of a list or a map
  size_t indent = 0;         // of the line that it ends on, if its end begins a line
  size_t content = 0;        // the indentation of lines in it
  size_t header_indent = 0;  // of the line with the last keyword in it that heads a block
  size_t else_indent = 0;    // of an `else` or `catch` of that keyword that begins a line
};

class Layout {
 public:
  explicit Layout(const Source& source) : source_(source) {}

  void add(const Item& item) {
    if (needs_line(item)) start_line(item);
    else if (item.is_comment) lines_.back().comment_column = source_.column_of(item.begin);
    if (item.is_comment) lines_.back().comment = item.text;
    else add_token(item);
    previous_ = &item;
  }

  std::string text() {
    align_comments();
    std::string text;
    for (const Line& line : lines_) {
      if (line.has_blank_before) text += '\n';
      text.append(line.indent, ' ').append(line.code);
      if (line.comment_column > 0) text.append(line.comment_column - line.width(), ' ');
      text.append(line.comment).append("\n");
    }
    return text;
  }

 private:
  bool needs_line(const Item& item) const {
    if (!previous_) return true;
    const bool joins = item.type == Tokens::BRACE_OPEN || (continues_block(item.type) && lines_.back().code == "}");
    return item.newlines > 0 && (previous_->is_comment || !joins);
  }

  void start_line(const Item& item) {
    const bool is_at_edge = !previous_ || is_opener(previous_->type) || is_closer(item.type);
    lines_.push_back({item.newlines > 1 && !is_at_edge, indent_of(item), "", "", 0});
  }

  size_t indent_of(const Item& item) const {
    const Bracket& top = brackets_.back();
    if (is_closer(item.type)) return top.indent;
    if (continues_block(item.type)) return top.else_indent;
    const bool holds_statements = top.type == 0 || top.type == Tokens::BRACE_OPEN;
    return top.content + (holds_statements && !item.starts_statement ? kIndent : 0);
  }

  void add_token(const Item& item) {
    Line& line = lines_.back();
    const Bracket bracket = brackets_.back();
    if (!line.code.empty()) {
      const bool closes_record = item.type == Tokens::BRACE_CLOSE && bracket.type == Tokens::RECORD_OPEN;
      const bool ends_statement = item.starts_statement && before_.type != Tokens::BRACE_OPEN;
      if (ends_statement) line.code += "; ";
      else if (needs_space({before_.type, before_.is_prefix, bracket.is_index}, item.type, closes_record))
        line.code += ' ';
      // The first item behind a bracket determines where the lines of the others begin.
      if (is_opener(before_.type) && before_.type != Tokens::BRACE_OPEN) brackets_.back().content = line.width();
    }
    note_bracket(item);
    line.code += item.text;
    const bool may_sign = item.type == Tokens::MINUS || item.type == Tokens::PLUS;
    const bool is_sign = may_sign && (item.starts_statement || !ends_operand(before_.type));
    before_ = {item.type, is_sign || item.type == Tokens::TILDE || (item.type == Tokens::AT && item.starts_statement),
               bracket.is_index};
  }

  /// Updates the open brackets, before the token is added to its line.
  void note_bracket(const Item& item) {
    const Line& line = lines_.back();
    Bracket& top = brackets_.back();
    if (heads_block(item.type)) {
      top.header_indent = line.indent;
      if (continues_block(item.type) || before_.type == Tokens::ELSE) return;  // `else if`
      top.else_indent = line.indent + (line.code.empty() ? 0 : kIndent);
    } else if (is_opener(item.type)) {
      const size_t indent = item.type == Tokens::BRACE_OPEN ? top.header_indent : line.indent;
      const bool is_index = item.type == Tokens::BRACKET_OPEN && !item.starts_statement && ends_operand(before_.type);
      brackets_.push_back({item.type, is_index, indent, indent + kIndent, indent, indent});
    } else if (is_closer(item.type)) {
      brackets_.pop_back();
    }
  }

  /// Puts comments behind code at one column where the author did, on lines in sequence.
  void align_comments() {
    for (size_t begin = 0, end = 0; begin < lines_.size(); begin = end) {
      const size_t column = lines_[begin].comment_column;
      size_t width = 0;
      for (end = begin; end < lines_.size() && lines_[end].comment_column == column; ++end) {
        if (end > begin && lines_[end].has_blank_before) break;
        width = std::max(width, lines_[end].width());
      }
      for (size_t i = begin; i < end && column > 0; ++i) lines_[i].comment_column = width + kCommentGap;
    }
  }

  const Source& source_;
  std::vector<Line> lines_;
  std::vector<Bracket> brackets_ = {Bracket()};
  const Item* previous_ = nullptr;
  Before before_;
};

/// Whether two sources have the same tokens and the same comments.
bool have_same_items(const Source& a, const Source& b) {
  const std::vector<Item> left = read_items(a, 0), right = read_items(b, 0);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const Item& x, const Item& y) {
    return x.type == y.type && x.text == y.text && x.starts_statement == y.starts_statement;
  });
}

}  // namespace

std::string format_source(const SourceMap& sources, uint32_t id) {
  Interner names;
  parse(sources, id, names);  // throws if it is no program
  const Source& source = sources.get(id);
  const std::vector<Item> items = read_items(source, id);
  Layout layout(source);
  for (const Item& item : items) layout.add(item);
  std::string text = layout.text();
  if (!have_same_items(source, Source("", text)))
    fail(ErrorName::format_changes_tokens, "{} was not formatted: its tokens would change", source.name());
  return text;
}

}  // namespace tsl
