#include "syntax/token_source.h"

#include <algorithm>

#include "TslParser.h"
#include "base/count_work.h"
#include "base/error_names.h"
#include "base/run_watch.h"
#include "syntax/parser_lock.h"
#include "syntax/tokens.h"
#include "syntax/unicode.h"

namespace tsl {

using antlr4::CommonToken;
using antlr4::Token;
using Tokens = grammar::TslParser;  // the parser's numbering includes the tokens made here

namespace {

/// Tokens after which a statement continues on the next line.
constexpr size_t kContinuing[] = {Tokens::PLUS,
                                  Tokens::MINUS,
                                  Tokens::STAR,
                                  Tokens::SLASH,
                                  Tokens::FLOOR,
                                  Tokens::PERCENT,
                                  Tokens::POWER,
                                  Tokens::AT,
                                  Tokens::ASSIGN,
                                  Tokens::PLUS_ASSIGN,
                                  Tokens::MINUS_ASSIGN,
                                  Tokens::STAR_ASSIGN,
                                  Tokens::SLASH_ASSIGN,
                                  Tokens::FLOOR_ASSIGN,
                                  Tokens::PERCENT_ASSIGN,
                                  Tokens::POWER_ASSIGN,
                                  Tokens::AT_ASSIGN,
                                  Tokens::EQUAL,
                                  Tokens::NOT_EQUAL,
                                  Tokens::LESS,
                                  Tokens::LESS_EQUAL,
                                  Tokens::GREATER,
                                  Tokens::GREATER_EQUAL,
                                  Tokens::SHIFT_LEFT,
                                  Tokens::SHIFT_RIGHT,
                                  Tokens::TILDE,
                                  Tokens::AMPERSAND,
                                  Tokens::CARET,
                                  Tokens::BAR,
                                  Tokens::PIPE,
                                  Tokens::ARROW,
                                  Tokens::RANGE,
                                  Tokens::CLOSED_RANGE,
                                  Tokens::DOT,
                                  Tokens::COMMA,
                                  Tokens::COLON,
                                  Tokens::IN,
                                  Tokens::AND,
                                  Tokens::OR,
                                  Tokens::NOT,
                                  Tokens::ELSE,
                                  Tokens::TRY};

/// Tokens after which '{' opens a block: ends of expressions and types, `else` and `try`.
constexpr size_t kBeforeBlock[] = {Tokens::NAME,          Tokens::NUMBER,      Tokens::STRING,
                                   Tokens::FSTRING_CLOSE, Tokens::PAREN_CLOSE, Tokens::BRACKET_CLOSE,
                                   Tokens::BRACE_CLOSE,   Tokens::TRUE,        Tokens::FALSE,
                                   Tokens::NIL,           Tokens::FN,          Tokens::ELSE,
                                   Tokens::TRY,           Tokens::FINALLY};

template <size_t N> bool is_among(const size_t (&types)[N], size_t type) {
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

bool is_keyword(size_t type) { return type >= Tokens::LET && type <= Tokens::FINALLY; }

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80);
}

/// Whether a `var` before '(' calls the variance: in a declaration, a tuple of names and '=' follow.
bool calls(std::string_view text, const Token& var) {
  constexpr std::string_view kBlanks = " \t\r\n", kPattern = " \t\r\n,.";
  size_t at = text.find_first_not_of(kBlanks, var.getStopIndex() + 1);
  if (at == std::string_view::npos || text[at] != '(') return false;
  for (int depth = 0; at < text.size(); ++at) {
    const char c = text[at];
    count_work(1);
    if (c == '(') ++depth;
    else if (c == ')' && --depth == 0) break;
    else if (c == '#') at = std::min(text.find('\n', at), text.size());
    else if (c != ')' && !starts_name(c) && !(c >= '0' && c <= '9') && kPattern.find(c) == std::string_view::npos)
      return true;
  }
  at = std::min(text.find_first_not_of(kBlanks, at + 1), text.size());
  return text.substr(at, 1) != "=" || text.substr(at, 2) == "==";
}

/// Whether the brackets match; the stack distinguishes the '}' of a record and of a block.
bool matches(size_t opening, size_t closing) {
  switch (closing) {
    case Tokens::PAREN_CLOSE: return opening == Tokens::PAREN_OPEN;
    case Tokens::BRACKET_CLOSE: return opening == Tokens::BRACKET_OPEN;
    default: return opening == Tokens::BRACE_OPEN || opening == Tokens::RECORD_OPEN;
  }
}

constexpr uint64_t kTokenBytes = 256;  // of a token, the tree's leaf for it, and their places in lists

constexpr std::string_view kQuotes = "\"\"\"";  // of a string of several lines

char closer_of(size_t opening) {
  if (opening == Tokens::PAREN_OPEN) return ')';
  return opening == Tokens::BRACKET_OPEN ? ']' : '}';
}

}  // namespace

TokenSource::TokenSource(const Source& source, uint32_t id, std::vector<Repair> repairs)
    : source_(source),
      id_(id),
      stream_(source.text()),
      lexer_(&stream_),
      previous_(Tokens::END),
      repairs_(std::move(repairs)) {
  lexer_.removeErrorListeners();
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (stream_.text().substr(0, kByteOrderMark.size()) == kByteOrderMark) stream_.seek(kByteOrderMark.size());
}

std::string_view TokenSource::doc_before(uint32_t offset) const {
  const auto found = docs_.find(offset);
  return found == docs_.end() ? std::string_view() : found->second;
}

std::unique_ptr<Token> TokenSource::nextToken() {
  poll_stop();
  if (bytes_) bytes_->add(kTokenBytes);
  stop_at_exit();
  if (error_) return make(Token::EOF, stream_.text().size(), stream_.text().size());
  if (pending_) return accept(std::move(pending_));
  if (top_is(Tokens::FSTRING_OPEN)) return fstring_token();
  if (top_is(Tokens::FORMAT_SPEC)) {
    if (stream_.text()[stream_.index()] == '{') return open_value(stream_.index());
    TokenPtr piece = format_spec(stream_.index());
    if (piece) return piece;
  }
  TokenPtr token = read_significant();
  if (error_) return token;
  if (separator_ && ends_statement(*token)) {
    pending_ = std::move(token);
    previous_ = Tokens::END;
    return make(Tokens::END, separator_->begin, separator_->end);
  }
  return accept(std::move(token));
}

/// Returns the next token that is no newline, separator or comment; members record those that were skipped.
std::unique_ptr<Token> TokenSource::read_significant() {
  separator_.reset();
  is_semicolon_ = false;
  // bounded: read_raw() counts
  for (;;) {
    TokenPtr token = read_raw();
    if (!token) continue;
    switch (token->getType()) {
      case Tokens::NEWLINE:
        if (open_hole() && quotes_of_fstring() == 1) {
          return fail(ErrorName::unterminated_string, span_of(*token),
                      "an f-string must end on the line where it starts");
        }
        note_newline();
        if (!separator_) separator_ = span_of(*token);
        break;
      case Tokens::SEMICOLON:
        if (!in_statements()) return token;
        if (!is_semicolon_) separator_ = span_of(*token);
        is_semicolon_ = true;
        break;
      case Tokens::DOC_COMMENT:
        comments_.push_back(span_of(*token));
        note_doc(*token);
        break;
      case Tokens::COMMENT:
        comments_.push_back(span_of(*token));
        newlines_after_doc_ = 0;
        break;
      case Tokens::UNTERMINATED_STRING:
      case Tokens::UNEXPECTED: return fail_lexically(*token);
      case Token::EOF:
        if (open_hole()) return fail_in_hole();
        return token;
      default: return token;
    }
  }
}

/// Returns the lexer's next token, or that of a repair; null if a repair skips text.
std::unique_ptr<Token> TokenSource::read_raw() {
  if (!inserted_.empty()) {
    const size_t type = inserted_.back();
    inserted_.pop_back();
    return make(type, stream_.index(), stream_.index() + 1);
  }
  TokenPtr token = lexer_.nextToken();
  if (repaired_ == repairs_.size() || token->getStartIndex() < repairs_[repaired_].begin) return token;
  return apply_repair(repairs_[repaired_++]);
}

/// Returns the first token that a repair inserts, or null.
std::unique_ptr<Token> TokenSource::apply_repair(const Repair& repair) {
  stream_.seek(repair.end);
  switch (repair.kind) {
    case Repair::Kind::skip: return nullptr;
    case Repair::Kind::skip_header:
      separator_ = Span{id_, repair.begin, repair.begin + 1};
      inserted_ = {Tokens::TRUE};
      return make(Tokens::WHILE, repair.begin, repair.begin + 1);
    case Repair::Kind::close_block:
      inserted_ = {Tokens::NEWLINE};
      return make(Tokens::BRACE_CLOSE, repair.begin, repair.begin + 1);
  }
  return nullptr;
}

/// Whether the last newline or ';' ends a statement before `next`.
bool TokenSource::ends_statement(const Token& next) const {
  const size_t type = next.getType();
  if (!in_statements()) return false;
  if (previous_ == Tokens::END || previous_ == Tokens::BRACE_OPEN) return false;  // no statement to end
  if (is_semicolon_ && is_among(kContinuing, previous_)) return true;             // the parser reports the error
  if (type == Token::EOF || type == Tokens::BRACE_CLOSE) return false;
  if (is_semicolon_) return true;
  if (is_among(kContinuing, previous_) || type == Tokens::PIPE) return false;
  if (type == Tokens::DOT) {
    const size_t after = next.getStopIndex() + 1;
    return after >= stream_.text().size() || !starts_name(stream_.text()[after]);
  }
  const bool continues_block = type == Tokens::ELSE || type == Tokens::CATCH || type == Tokens::FINALLY;
  return !(continues_block && previous_ == Tokens::BRACE_CLOSE);
}

/// Returns a token after fixing its type and updating the stack of brackets.
std::unique_ptr<Token> TokenSource::accept(TokenPtr token) {
  auto& common = static_cast<CommonToken&>(*token);
  attach_doc(*token);
  if (top_is(Tokens::HOLE_OPEN)) {
    if (token->getType() == Tokens::COLON) {
      open_.push_back({Tokens::FORMAT_SPEC, span_of(*token)});
      return format_spec(token->getStartIndex());
    }
    if (token->getType() == Tokens::BRACE_CLOSE) {
      open_.pop_back();
      common.setType(Tokens::HOLE_CLOSE);
      return token;
    }
  }
  switch (token->getType()) {
    case Tokens::BRACE_OPEN:
      if (!is_among(kBeforeBlock, previous_)) common.setType(Tokens::RECORD_OPEN);
      [[fallthrough]];
    case Tokens::PAREN_OPEN:
    case Tokens::BRACKET_OPEN:
    case Tokens::FSTRING_OPEN:
      if (open_.size() >= kMaxOpenBrackets) {
        return fail(ErrorName::program_too_deep, span_of(*token), "the program is nested too deeply here",
                    {fmt::format("at most {} brackets may be open at once", kMaxOpenBrackets)});
      }
      open(*token);
      break;
    case Tokens::PAREN_CLOSE:
    case Tokens::BRACKET_CLOSE:
    case Tokens::BRACE_CLOSE: return close(std::move(token));
    case Tokens::NAME: {
      const size_t bad = find_unnameable(
          stream_.text().substr(token->getStartIndex(), token->getStopIndex() + 1 - token->getStartIndex()));
      if (bad != std::string_view::npos) {
        common.setStartIndex(token->getStartIndex() + bad);
        return fail_lexically(*token);
      }
      if (is_use(*token)) common.setType(Tokens::USE);
      break;
    }
    default:
      if (is_keyword(token->getType()) && (previous_ == Tokens::DOT || is_key(*token))) common.setType(Tokens::NAME);
      // `var` declares at the start of a statement, unless it is called; elsewhere it is the variance, var(x).
      if (token->getType() == Tokens::VAR &&
          ((previous_ != Tokens::END && previous_ != Tokens::BRACE_OPEN) || calls(stream_.text(), *token))) {
        common.setType(Tokens::NAME);
      }
      break;
  }
  previous_ = token->getType();
  return token;
}

void TokenSource::open(const Token& token) { open_.push_back({token.getType(), span_of(token)}); }

std::unique_ptr<Token> TokenSource::close(TokenPtr token) {
  const char found = stream_.text()[token->getStartIndex()];
  if (open_.empty())
    return fail(ErrorName::unmatched_bracket, span_of(*token), fmt::format("'{}' closes nothing", found));
  const OpenBracket& top = open_.back();
  if (!matches(top.type, token->getType())) {
    const char opening = top.type == Tokens::HOLE_OPEN ? '{' : source_.text()[top.span.begin];
    return fail(ErrorName::unmatched_bracket, span_of(*token),
                fmt::format("expected '{}' to close '{}' opened at line {}, found '{}'", closer_of(top.type), opening,
                            source_.line_of(top.span.begin), found));
  }
  open_.pop_back();
  previous_ = token->getType();
  return token;
}

/// Whether a name is the `use` of a dtype: it begins a statement, and a name that is no keyword follows on its line.
bool TokenSource::is_use(const Token& name) const {
  const std::string_view text = stream_.text();
  const size_t end = name.getStopIndex() + 1;
  if ((previous_ != Tokens::END && previous_ != Tokens::BRACE_OPEN) || !in_statements()) return false;
  if (text.substr(name.getStartIndex(), end - name.getStartIndex()) != "use") return false;
  const size_t next = std::min(text.find_first_not_of(" \t", end), text.size());
  const auto is_part = [&](size_t at) {
    return starts_name(text[at]) || (at > next && text[at] >= '0' && text[at] <= '9');
  };
  size_t after = next;
  for (; after < text.size() && is_part(after); ++after) count_work(1);
  const std::string_view word = text.substr(next, after - next);
  return !word.empty() && std::find(keywords().begin(), keywords().end(), word) == keywords().end();
}

/// Whether a keyword is a key of a record: {in: 1}
bool TokenSource::is_key(const Token& keyword) const {
  if (!top_is(Tokens::RECORD_OPEN) || (previous_ != Tokens::RECORD_OPEN && previous_ != Tokens::COMMA)) return false;
  const size_t after = stream_.text().find_first_not_of(" \t", keyword.getStopIndex() + 1);
  return after != std::string_view::npos && stream_.text()[after] == ':';
}

bool TokenSource::in_statements() const { return open_.empty() || open_.back().type == Tokens::BRACE_OPEN; }

/// Returns the innermost open brace of an f-string, or null.
const OpenBracket* TokenSource::open_hole() const {
  // bounded: by kMaxOpenBrackets
  for (auto bracket = open_.rbegin(); bracket != open_.rend(); ++bracket) {
    if (bracket->type == Tokens::HOLE_OPEN) return &*bracket;
  }
  return nullptr;
}

/// Returns how many quotes stand at each side of the innermost open f-string.
size_t TokenSource::quotes_of_fstring() const {
  auto bracket = open_.rbegin();
  // bounded: by kMaxOpenBrackets
  while (bracket != open_.rend() && bracket->type != Tokens::FSTRING_OPEN) ++bracket;
  return bracket == open_.rend() ? 0 : bracket->span.end - bracket->span.begin - 1;
}

// ---- f-strings -----------------------------------------------------------------------------------------

/// Reads the next token within an f-string: its end, the start of a hole, or text before one of these.
std::unique_ptr<Token> TokenSource::fstring_token() {
  const std::string_view text = stream_.text();
  const size_t begin = stream_.index();
  const char c = begin < text.size() ? text[begin] : '\n';
  const size_t quotes = quotes_of_fstring();
  if (text.substr(begin).starts_with(kQuotes.substr(0, quotes))) {
    stream_.seek(begin + quotes);
    open_.pop_back();
    previous_ = Tokens::FSTRING_CLOSE;
    return make(Tokens::FSTRING_CLOSE, begin, begin + quotes);
  }
  const char next = begin + 1 < text.size() ? text[begin + 1] : '\n';
  if (c == '{' && next != '{') return open_value(begin);
  return fstring_text(begin);
}

std::unique_ptr<Token> TokenSource::open_value(size_t begin) {
  if (open_.size() >= kMaxOpenBrackets) {
    return fail(ErrorName::program_too_deep, {id_, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + 1)},
                "the program is nested too deeply here");
  }
  stream_.seek(begin + 1);
  previous_ = Tokens::HOLE_OPEN;
  TokenPtr token = make(Tokens::HOLE_OPEN, begin, begin + 1);
  open(*token);
  return token;
}

std::unique_ptr<Token> TokenSource::fstring_text(size_t begin) {
  const std::string_view text = stream_.text();
  const auto at_pair = [&](size_t at) { return at + 1 < text.size() && text[at + 1] == text[at]; };
  const std::string_view quotes = kQuotes.substr(0, quotes_of_fstring());
  const bool is_long = quotes.size() > 1;
  const auto ends_line = [&](size_t at) { return !is_long && (text[at] == '\n' || text[at] == '\r'); };
  size_t end = begin;
  while (end < text.size() && !text.substr(end).starts_with(quotes) && !ends_line(end)) {
    count_work(1);
    if (text[end] == '\\' && end + 1 < text.size() && text[end + 1] != '\n') {
      end += 2;
      // The braces of \u{...} do not open a hole.
      if (text[end - 1] == 'u' && end < text.size() && text[end] == '{') {
        const size_t close = text.find_first_of("}\"\n", end);
        if (close != std::string_view::npos && text[close] == '}') end = close + 1;
      }
    } else if (text[end] == '{' || text[end] == '}') {
      if (!at_pair(end)) break;
      end += 2;
    } else {
      ++end;
    }
  }
  const auto here = static_cast<uint32_t>(end);
  if (end >= text.size() || ends_line(end)) {
    const ErrorName name = is_long ? ErrorName::unexpected_end : ErrorName::unterminated_string;
    const uint32_t first = open_.back().span.begin;
    return fail(name, {id_, first, is_long ? first + 4 : here}, "unterminated f-string");
  }
  if (text[end] == '}') {
    return fail(ErrorName::unmatched_bracket, {id_, here, here + 1}, "'}' in an f-string closes nothing",
                {"write '}}' for a brace"});
  }
  stream_.seek(end);
  return make(Tokens::FSTRING_TEXT, begin, end);
}

/// Reads a format spec up to a value in it, or to its end, which ends the bracket that it counts as. Returns null if
/// nothing is left of it.
std::unique_ptr<Token> TokenSource::format_spec(size_t begin) {
  const std::string_view text = stream_.text();
  size_t end = begin;
  while (end < text.size() && text[end] != '}' && text[end] != '{' && text[end] != '"' && text[end] != '\n') ++end;
  count_work(static_cast<int64_t>(end - begin));
  if (end >= text.size() || (text[end] != '}' && text[end] != '{')) { return fail_in_hole(); }
  if (text[end] == '}') open_.pop_back();
  if (end == begin) return nullptr;
  stream_.seek(end);
  previous_ = Tokens::FORMAT_SPEC;
  return make(Tokens::FORMAT_SPEC, begin, end);
}

// ---- Errors --------------------------------------------------------------------------------------------

std::unique_ptr<Token> TokenSource::fail(ErrorName name, Span span, std::string message,
                                         std::vector<std::string> notes) {
  error_ = Error{name, std::move(message), span, std::move(notes), {}};
  return make(Tokens::ERROR, span.begin, span.end);
}

std::unique_ptr<Token> TokenSource::fail_in_hole() {
  return fail(ErrorName::unmatched_bracket, open_hole()->span, "expected '}' to close '{' in this f-string");
}

std::unique_ptr<Token> TokenSource::fail_lexically(const Token& token) {
  Span span = span_of(token);
  if (token.getType() == Tokens::UNTERMINATED_STRING) {
    if (open_hole()) return fail_in_hole();
    const std::string_view opening = stream_.text().substr(span.begin, 4);
    if (const size_t quotes = opening.find(kQuotes); quotes < 2) {
      span.end = span.begin + static_cast<uint32_t>(quotes + kQuotes.size());
      return fail(ErrorName::unexpected_end, span, "unterminated string", {"three quotes end it, too"});
    }
    return fail(
        ErrorName::unterminated_string, span, "unterminated string",
        {"a string ends on its line, with `\"`; `\\n` in it is a new line, and one in three quotes has several"});
  }
  const std::string_view text = stream_.text().substr(span.begin);
  const CodePoint point = decode_utf8(text);
  span.end = span.begin + point.size;
  const std::string_view shown = text.substr(0, point.size);
  if (point.value < 0x20 || point.value == 0x7F) {
    return fail(ErrorName::unexpected_character, span, fmt::format("unexpected character U+{:04X}", point.value));
  }
  const Lookalike* const meant = lookalike(point.value);
  if (meant) {
    return fail(ErrorName::unexpected_character, span,
                fmt::format("unexpected character '{}' (U+{:04X}, {})", shown, point.value, meant->name),
                {std::string(meant->hint)});
  }
  return fail(ErrorName::unexpected_character, span,
              fmt::format("unexpected character '{}'{}", shown,
                          point.value < 0x80 ? "" : fmt::format(" (U+{:04X})", point.value)));
}

// ---- Doc comments --------------------------------------------------------------------------------------

void TokenSource::note_doc(const Token& comment) {
  std::string_view line =
      stream_.text().substr(comment.getStartIndex(), comment.getStopIndex() + 1 - comment.getStartIndex());
  line.remove_prefix(2);
  if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  doc_lines_.emplace_back(line);
  newlines_after_doc_ = 0;
}

/// Handles a newline: a blank line separates doc lines from what follows. The file's first lines then describe the
/// module.
void TokenSource::note_newline() {
  if (doc_lines_.empty() || ++newlines_after_doc_ < 2) return;
  if (!seen_token_ && module_doc_.empty()) module_doc_ = fmt::format("{}", fmt::join(doc_lines_, "\n"));
  doc_lines_.clear();
}

void TokenSource::attach_doc(const Token& token) {
  const bool is_first = !seen_token_;
  seen_token_ = true;
  if (doc_lines_.empty()) return;
  std::string doc = fmt::format("{}", fmt::join(doc_lines_, "\n"));
  doc_lines_.clear();
  const bool starts_function = token.getType() == Tokens::FN || token.getType() == Tokens::AT;
  if (is_first && !starts_function) {
    module_doc_ = std::move(doc);
  } else {
    docs_.emplace(static_cast<uint32_t>(token.getStartIndex()), std::move(doc));
  }
}

// ---- Tokens --------------------------------------------------------------------------------------------

std::unique_ptr<Token> TokenSource::make(size_t type, size_t begin, size_t end) const {
  auto* self = const_cast<TokenSource*>(this);  // the runtime requires non-const pointers, but only reads
  return std::make_unique<CommonToken>(std::pair<antlr4::TokenSource*, antlr4::CharStream*>(self, &self->stream_), type,
                                       Token::DEFAULT_CHANNEL, begin, end - 1);
}

Span TokenSource::span_of(const Token& token) const {
  return {id_, static_cast<uint32_t>(token.getStartIndex()), static_cast<uint32_t>(token.getStopIndex() + 1)};
}

}  // namespace tsl
