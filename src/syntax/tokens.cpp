#include "syntax/tokens.h"

#include <algorithm>

#include "TslParser.h"
#include "syntax/token_source.h"
#include "syntax/unicode.h"

namespace tsl {

namespace {

using Tokens = grammar::TslParser;

TokenClass class_of(size_t type) {
  switch (type) {
    case Tokens::TRUE:
    case Tokens::FALSE:
    case Tokens::NIL: return TokenClass::constant;
    case Tokens::NUMBER: return TokenClass::number;
    case Tokens::USE: return TokenClass::keyword;
    case Tokens::NAME: return TokenClass::name;
    case Tokens::STRING:
    case Tokens::FSTRING_OPEN:
    case Tokens::FSTRING_TEXT:
    case Tokens::FORMAT_SPEC:
    case Tokens::FSTRING_CLOSE: return TokenClass::string;
    case Tokens::PAREN_OPEN:
    case Tokens::BRACKET_OPEN:
    case Tokens::BRACE_OPEN:
    case Tokens::RECORD_OPEN:
    case Tokens::HOLE_OPEN: return TokenClass::opening;
    case Tokens::PAREN_CLOSE:
    case Tokens::BRACKET_CLOSE:
    case Tokens::BRACE_CLOSE:
    case Tokens::HOLE_CLOSE: return TokenClass::closing;
    case Tokens::ERROR: return TokenClass::error;
    default: return type >= Tokens::LET && type <= Tokens::FINALLY ? TokenClass::keyword : TokenClass::operation;
  }
}

/// Appends the tokens from `begin` on. Returns where to go on: behind the line of an error, or at the end.
size_t append_tokens(std::string_view text, size_t begin, std::vector<TextToken>& to) {
  const Source source("", std::string(text.substr(begin)));
  TokenSource tokens(source, 0);
  const auto add = [&](TokenClass kind, size_t from, size_t end) {
    if (end > from) to.push_back({kind, static_cast<uint32_t>(begin + from), static_cast<uint32_t>(begin + end)});
  };
  for (;;) {
    const auto token = tokens.nextToken();
    const size_t type = token->getType();
    if (type == antlr4::Token::EOF || tokens.error()) break;
    if (type != Tokens::END) add(class_of(type), token->getStartIndex(), token->getStopIndex() + 1);
  }
  for (const Span& comment : tokens.comments()) add(TokenClass::comment, comment.begin, comment.end);
  if (!tokens.error()) return text.size();
  const size_t from = tokens.error()->span.begin;
  const size_t end = std::min(source.text().find('\n', from), source.text().size());
  add(TokenClass::error, from, end);
  return begin + std::min(end + 1, source.text().size());
}

}  // namespace

std::span<const std::string_view> keywords() {
  static constexpr std::string_view kWords[] = {"and", "as",  "break",  "catch", "continue", "else", "false", "finally",
                                                "fn",  "for", "from",   "if",    "import",   "in",   "let",   "nil",
                                                "not", "or",  "return", "true",  "try",      "var",  "while"};
  return kWords;
}

std::vector<TextToken> tokens_of(std::string_view text) {
  std::vector<TextToken> tokens;
  if (find_invalid_utf8(text) != std::string_view::npos) return tokens;
  for (size_t at = 0; at < text.size();) at = append_tokens(text, at, tokens);
  std::sort(tokens.begin(), tokens.end(), [](const TextToken& a, const TextToken& b) { return a.begin < b.begin; });
  return tokens;
}

}  // namespace tsl
