#include "syntax/raw_tokens.h"

#include <algorithm>

#include "TslLexer.h"
#include "base/count_work.h"
#include "base/run_watch.h"
#include "syntax/byte_stream.h"

namespace tsl {

using Lexer = grammar::TslLexer;

namespace {

constexpr int64_t kTokenWork = 200;

/// Appends a token. Throws Failure (limit).
void add(std::vector<RawToken>& tokens, const RawToken& token) {
  count_work(kTokenWork);
  if (tokens.size() == tokens.capacity()) require_host_bytes(3 * tokens.capacity() * sizeof(RawToken));
  tokens.push_back(token);
}

/// Returns the offset behind an f-string, or that of the end of its line.
size_t end_of_fstring(std::string_view text, size_t at) {
  constexpr std::string_view kQuotes = "\"\"\"";
  const bool is_long = text.substr(0, at).ends_with(kQuotes);
  int holes = 0;
  for (; at < text.size() && (is_long || text[at] != '\n'); ++at) {
    count_work(1);
    if (text[at] == '\\') ++at;
    else if (text[at] == '{') ++holes;
    else if (text[at] == '}') --holes;
    else if (is_long && text.substr(at).starts_with(kQuotes)) return at + kQuotes.size();
    else if (!is_long && text[at] == '"' && holes <= 0) return at + 1;
  }
  return std::min(at, text.size());
}

}  // namespace

std::vector<RawToken> raw_tokens(std::string_view text, uint32_t begin, uint32_t end) {
  ByteStream stream(text.substr(0, end));
  stream.seek(begin);
  Lexer lexer(&stream);
  lexer.removeErrorListeners();
  std::vector<RawToken> tokens;
  for (;;) {
    const std::unique_ptr<antlr4::Token> token = lexer.nextToken();
    size_t type = token->getType();
    if (type == antlr4::Token::EOF) return tokens;
    if (type == Lexer::COMMENT || type == Lexer::DOC_COMMENT) {
      count_work(kTokenWork);
      continue;
    }
    auto stop = static_cast<uint32_t>(token->getStopIndex() + 1);
    if (type == Lexer::FSTRING_OPEN) {
      type = Lexer::STRING;
      stop = static_cast<uint32_t>(end_of_fstring(stream.text(), stop));
      stream.seek(stop);
    }
    add(tokens, {type, static_cast<uint32_t>(token->getStartIndex()), stop});
  }
}

}  // namespace tsl
