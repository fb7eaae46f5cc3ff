#include "prompt/highlight.h"

#include <algorithm>

#include "prompt/entry_text.h"
#include "syntax/tokens.h"

namespace tsl::prompt {

namespace {

Style style_of(const TextToken& token) {
  switch (token.kind) {
    case TokenClass::keyword: return Style::keyword;
    case TokenClass::constant:
    case TokenClass::number: return Style::constant;
    case TokenClass::string: return Style::string;
    case TokenClass::comment: return Style::comment;
    case TokenClass::error: return Style::error;
    case TokenClass::name:
    case TokenClass::operation:
    case TokenClass::opening:
    case TokenClass::closing: return Style::plain;
  }
  return Style::plain;
}

/// Marks the bracket before the cursor, or else the one under it, with its partner.
void mark_brackets(const std::vector<TextToken>& tokens, size_t cursor, std::vector<Style>& styles) {
  std::vector<uint32_t> open;
  for (const TextToken& token : tokens) {
    if (token.kind == TokenClass::opening) open.push_back(token.begin);
    if (token.kind != TokenClass::closing || open.empty()) continue;
    const uint32_t partner = open.back();
    open.pop_back();
    const auto is_near = [&](size_t at) { return at + 1 == cursor || at == cursor; };
    if (is_near(token.begin) || is_near(partner)) styles[token.begin] = styles[partner] = Style::bracket;
  }
}

}  // namespace

std::string_view start_of(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::keyword: return "\033[35m";
    case Style::constant: return "\033[36m";
    case Style::string: return "\033[32m";
    case Style::comment: return "\033[90m";
    case Style::builtin: return "\033[34m";
    case Style::error: return "\033[31m";
    case Style::bracket: return "\033[1;4m";
    case Style::prompt: return "\033[1;32m";
    case Style::faint: return "\033[90m";
  }
  return "";
}

std::vector<Style> highlight(std::string_view entry, size_t cursor,
                             const std::function<bool(std::string_view)>& is_builtin) {
  std::vector<Style> styles(entry.size(), Style::plain);
  const auto fill = [&](size_t begin, size_t end, Style style) {
    std::fill(styles.begin() + static_cast<ptrdiff_t>(begin), styles.begin() + static_cast<ptrdiff_t>(end), style);
  };
  size_t begin = 0;  // of the code
  if (is_command(entry)) {
    const size_t mark = entry.find_first_of(kCommandMarks);
    begin = std::min(entry.find_first_of(" \n", mark), entry.size());
    fill(0, begin, Style::keyword);
    if (entry[mark] == '!') return styles;
  }
  std::vector<TextToken> tokens = tokens_of(entry.substr(begin));
  for (TextToken& token : tokens) {
    token.begin += static_cast<uint32_t>(begin);
    token.end += static_cast<uint32_t>(begin);
    const bool names_builtin =
        token.kind == TokenClass::name && is_builtin(entry.substr(token.begin, token.end - token.begin));
    fill(token.begin, token.end, names_builtin ? Style::builtin : style_of(token));
  }
  mark_brackets(tokens, cursor, styles);
  return styles;
}

}  // namespace tsl::prompt
