#include "prompt/entry_text.h"

#include <algorithm>
#include <vector>

#include "syntax/parser.h"
#include "syntax/tokens.h"

namespace tsl::prompt {

std::string without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin));
}

bool is_command(std::string_view entry) {
  const size_t first = entry.find_first_not_of(kBlanks);
  return first != std::string_view::npos && (entry[first] == ':' || entry[first] == '?');
}

bool is_complete(const std::string& entry) { return is_command(entry) || !is_incomplete(entry); }

size_t indentation_after(std::string_view text) {
  std::vector<uint32_t> open;  // where the open brackets are
  for (const TextToken& token : tokens_of(text)) {
    if (token.kind == TokenClass::opening) open.push_back(token.begin);
    else if (token.kind == TokenClass::closing && !open.empty()) open.pop_back();
    else if (token.kind == TokenClass::error) open.clear();
  }
  if (open.empty()) return 0;
  const size_t line = text.rfind('\n', open.back()) + 1;  // 0 if there is none
  return text.find_first_not_of(' ', line) - line + kIndent;
}

bool is_quiet(std::string_view entry) {
  size_t end = 0;  // of the last token
  std::string rest;
  for (const TextToken& token : tokens_of(entry)) {
    if (token.kind != TokenClass::comment) rest.clear();
    else rest += entry.substr(end, token.begin - end);
    end = token.end;
  }
  rest += entry.substr(std::min(end, entry.size()));
  return rest.find(';') != std::string::npos;
}

}  // namespace tsl::prompt
