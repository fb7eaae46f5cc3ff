#include "prompt/entry_text.h"

#include <algorithm>
#include <optional>
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
  if (first == std::string_view::npos) return false;
  return kCommandMarks.find(entry[first]) != std::string_view::npos || !asked_name(entry).empty();
}

std::string_view asked_name(std::string_view entry) {
  const size_t begin = entry.find_first_not_of(kBlanks), end = entry.find_last_not_of(kBlanks);
  if (begin == std::string_view::npos || entry[end] != '?') return "";
  const std::string_view name = entry.substr(begin, end - begin);
  for (const TextToken& token : tokens_of(name)) {
    const bool is_part = token.kind == TokenClass::name || name.substr(token.begin, token.end - token.begin) == ".";
    if (!is_part) return "";
  }
  return name.find_first_of(kBlanks) == std::string_view::npos ? name : "";
}

namespace {

constexpr std::string_view kPromptMark = ">>>", kContinuationMark = "...";

/// Returns what a line of a session has behind its prompt; nothing if it has none.
std::optional<std::string_view> behind_prompt(std::string_view line) {
  const std::string_view text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  for (const std::string_view mark : {kPromptMark, kContinuationMark}) {
    if (text == mark) return "";
    if (text.starts_with(mark) && text[mark.size()] == ' ') return text.substr(mark.size() + 1);
  }
  return std::nullopt;
}

}  // namespace

std::string without_prompts(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos || !text.substr(first).starts_with(kPromptMark)) return std::string(text);
  std::string code;
  for (size_t at = first; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::optional<std::string_view> typed = behind_prompt(line);
    if (typed) code += std::string(*typed) + "\n";
    else if (is_incomplete(code)) code += std::string(line) + "\n";  // typed behind the first line, without a prompt
  }
  if (!text.ends_with('\n') && code.ends_with('\n')) code.pop_back();
  return code;
}

std::string_view without_semicolon(std::string_view code) {
  size_t end = 0;
  for (const TextToken& token : tokens_of(code)) {
    if (token.kind != TokenClass::comment) end = token.end;
  }
  return code.substr(0, end);
}

namespace {

/// Whether the last line is documentation, which belongs to the function behind it.
bool ends_in_documentation(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::string line = without_blanks(text.substr(text.rfind('\n') + 1));  // npos + 1: the first line
  return line.starts_with("##") && !line.starts_with("###");
}

}  // namespace

bool is_complete(const std::string& entry) {
  if (is_command(entry)) return true;
  const std::string code = without_prompts(entry);
  return !is_incomplete(code) && !ends_in_documentation(code);
}

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
