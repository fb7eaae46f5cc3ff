#include "syntax/recovery.h"

#include <algorithm>

#include "TslParser.h"
#include "base/count_work.h"
#include "syntax/raw_tokens.h"

namespace tsl {

using antlr4::Token;
using Tokens = grammar::TslParser;

namespace {

constexpr int64_t kRecoveryWork = 8;

uint32_t begin_of(const Token& token) { return static_cast<uint32_t>(token.getStartIndex()); }
uint32_t end_of(const Token& token) { return static_cast<uint32_t>(token.getStopIndex() + 1); }

bool opens(size_t type) {
  return type == Tokens::PAREN_OPEN || type == Tokens::BRACKET_OPEN || type == Tokens::BRACE_OPEN ||
         type == Tokens::RECORD_OPEN || type == Tokens::HOLE_OPEN || type == Tokens::FSTRING_OPEN;
}

bool closes(size_t type) {
  return type == Tokens::PAREN_CLOSE || type == Tokens::BRACKET_CLOSE || type == Tokens::BRACE_CLOSE ||
         type == Tokens::HOLE_CLOSE || type == Tokens::FSTRING_CLOSE;
}

/// Returns how far the line of an offset is indented.
uint32_t indentation(std::string_view text, uint32_t offset) {
  const size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t first = std::min(text.find_first_not_of(" \t", line), text.size());
  return static_cast<uint32_t>(first - line);
}

bool is_first_on_line(std::string_view text, uint32_t offset) {
  const size_t before = offset == 0 ? std::string_view::npos : text.find_last_not_of(" \t", offset - 1);
  return before == std::string_view::npos || text[before] == '\n';
}

/// Words whose blocks hold no statements of TSL.
bool starts_foreign_block(std::string_view word) {
  constexpr std::string_view kWords[] = {"class", "struct", "switch", "match", "enum", "interface", "trait", "impl"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

}  // namespace

uint32_t statement_start(const std::vector<Token*>& tokens, uint32_t offset) {
  struct Open {
    bool is_block;
    std::optional<uint32_t> start;  // of the statement, in a block
  };
  std::vector<Open> open = {{true, std::nullopt}};
  for (const Token* token : tokens) {
    count_work(kRecoveryWork);
    const size_t type = token->getType();
    if (begin_of(*token) >= offset || type == Token::EOF) break;
    if (type == Tokens::END) {
      open.back().start.reset();
      continue;
    }
    if (!open.back().start) open.back().start = begin_of(*token);
    if (opens(type)) open.push_back({type == Tokens::BRACE_OPEN, std::nullopt});
    else if (closes(type) && open.size() > 1) {
      const bool ends_block = open.back().is_block;
      open.pop_back();
      if (ends_block && open.back().is_block) open.back().start = end_of(*token);
    }
  }
  while (!open.back().is_block) open.pop_back();
  return open.back().start.value_or(offset);
}

// ---- Broken statements ---------------------------------------------------------------------------------

namespace {

/// Finds the end of a broken statement.
class BrokenStatement {
 public:
  BrokenStatement(std::string_view text, uint32_t start, uint32_t offset)
      : text_(text), offset_(offset), tokens_(raw_tokens(text, start, static_cast<uint32_t>(text.size()))) {
    if (!tokens_.empty()) {
      start_ = tokens_.front().begin;
      is_foreign_ = starts_foreign_block(text.substr(start_, tokens_.front().end - start_));
    }
  }

  Repair repair() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const RawToken& token = tokens_[i];
      count_work(kRecoveryWork);
      switch (token.type) {
        case Tokens::NEWLINE:
          if (ends_at_newline(i)) return {Repair::Kind::skip, start_, token.begin};
          break;
        case Tokens::PAREN_OPEN:
        case Tokens::BRACKET_OPEN: open_.push_back(text_[token.begin]); break;
        case Tokens::BRACE_OPEN:
          if (token.begin >= offset_ && open_.empty() && is_block(i)) {
            return {Repair::Kind::skip_header, start_, token.begin};
          }
          open_.push_back('{');
          break;
        case Tokens::PAREN_CLOSE:
        case Tokens::BRACKET_CLOSE:
          if (!open_.empty() && open_.back() != '{') open_.pop_back();
          break;
        case Tokens::BRACE_CLOSE:
          if (std::find(open_.begin(), open_.end(), '{') == open_.end()) return before_brace(token);
          while (open_.back() != '{') open_.pop_back();
          open_.pop_back();
          break;
        default: break;
      }
    }
    return {Repair::Kind::skip, start_, static_cast<uint32_t>(text_.size())};
  }

 private:
  /// Ends before a '}' of an outer block; if nothing comes before it, it closes nothing.
  Repair before_brace(const RawToken& brace) const {
    return {Repair::Kind::skip, start_, brace.begin > start_ ? brace.begin : brace.end};
  }

  /// Whether the statement ends: no bracket is open, or the next line is not indented as if one were.
  bool ends_at_newline(size_t i) const {
    size_t next = i + 1;
    while (next < tokens_.size() && tokens_[next].type == Tokens::NEWLINE) {
      count_work(1);
      ++next;
    }
    const bool brace_follows = next < tokens_.size() && tokens_[next].type == Tokens::BRACE_OPEN;  // that of a header
    if (open_.empty() && tokens_[i].begin >= offset_) return !brace_follows;
    if (open_.empty() || next == tokens_.size()) return false;
    const char first = text_[tokens_[next].begin];
    if (first == ')' || first == ']' || first == '}') return false;
    return indentation(text_, tokens_[next].begin) <= indentation(text_, start_);
  }

  /// Whether a brace opens a block of statements, and not a record or the body of a class.
  bool is_block(size_t i) const {
    if (is_foreign_ || i == 0) return !is_foreign_;
    switch (tokens_[i - 1].type) {
      case Tokens::ASSIGN:
      case Tokens::COMMA:
      case Tokens::GREATER:
      case Tokens::COLON:
      case Tokens::FROM:
      case Tokens::IMPORT:
      case Tokens::LET:
      case Tokens::VAR:
      case Tokens::UNEXPECTED: return false;
      default: return true;
    }
  }

  std::string_view text_;
  uint32_t start_ = 0;
  uint32_t offset_;
  std::vector<RawToken> tokens_;
  std::vector<char> open_;
  bool is_foreign_ = false;
};

}  // namespace

Repair repair_statement(std::string_view text, uint32_t start, uint32_t offset) {
  return BrokenStatement(text, start, offset).repair();
}

// ---- Missing braces ------------------------------------------------------------------------------------

namespace {

struct OpenBlock {
  size_t token;
  uint32_t indentation;  // of the line on which it opens
};

/// Returns the tokens that open a block which nothing closes.
std::vector<size_t> unclosed_blocks(const std::vector<Token*>& tokens) {
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    count_work(kRecoveryWork);
    if (tokens[i]->getType() == Tokens::BRACE_OPEN || tokens[i]->getType() == Tokens::RECORD_OPEN) open.push_back(i);
    else if (tokens[i]->getType() == Tokens::BRACE_CLOSE && !open.empty()) open.pop_back();
  }
  return open;
}

}  // namespace

std::optional<MissingBrace> find_missing_brace(const Source& source, uint32_t id, const std::vector<Token*>& tokens) {
  const std::string_view text = source.text();
  const std::vector<size_t> unclosed = unclosed_blocks(tokens);
  if (unclosed.empty()) return std::nullopt;
  std::vector<OpenBlock> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = *tokens[i];
    const size_t type = token.getType();
    count_work(kRecoveryWork);
    if (type == Tokens::END || type == Token::EOF) continue;
    if (!open.empty() && is_first_on_line(text, begin_of(token))) {
      const uint32_t here = indentation(text, begin_of(token));
      const bool is_unclosed = std::find(unclosed.begin(), unclosed.end(), open.back().token) != unclosed.end();
      const bool is_outside = here < open.back().indentation ||
                              (here == open.back().indentation && is_unclosed && type != Tokens::BRACE_CLOSE);
      if (is_outside) {
        const Token& opening = *tokens[open.back().token];
        return MissingBrace{{id, begin_of(opening), end_of(opening)}, {id, begin_of(token), end_of(token)}};
      }
    }
    if (type == Tokens::BRACE_OPEN || type == Tokens::RECORD_OPEN) {
      open.push_back({i, indentation(text, begin_of(token))});
    } else if (type == Tokens::BRACE_CLOSE && !open.empty()) {
      open.pop_back();
    }
  }
  return std::nullopt;
}

}  // namespace tsl
