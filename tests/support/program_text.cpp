#include "support/program_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace tsl {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_open(char c) { return c == '(' || c == '[' || c == '{'; }
bool is_close(char c) { return c == ')' || c == ']' || c == '}'; }

size_t end_of_word(const std::string& text, size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

size_t begin_of_word(const std::string& text, size_t at) {
  while (at > 0 && is_word(text[at - 1])) --at;
  return at;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// A pair of brackets, and the items between them as ranges of the text.
struct Group {
  size_t begin = 0, end = 0;  // of what is between the brackets
  std::vector<std::pair<size_t, size_t>> items;
};

/// Returns the group that begins behind a bracket; its end is the text's if no bracket closes it.
Group group_at(const std::string& text, size_t begin) {
  Group group{begin, begin, {}};
  int depth = 0;
  size_t item = begin, at = begin;
  for (; at < text.size() && (depth > 0 || !is_close(text[at])); ++at) {
    depth += is_open(text[at]) - is_close(text[at]);
    if (depth > 0 || text[at] != ',') continue;
    group.items.emplace_back(item, at);
    item = at + 1;
  }
  group.end = at;
  if (at > item) group.items.emplace_back(item, at);
  return group;
}

std::string replaced(const std::string& text, size_t begin, size_t end, const std::string& by) {
  return text.substr(0, begin) + by + text.substr(end);
}

/// Joins all items of a group but one.
std::string without_item(const std::string& text, const Group& group, size_t without) {
  std::string items;
  for (size_t i = 0; i < group.items.size(); ++i) {
    if (i == without) continue;
    items += (items.empty() ? "" : ", ") +
             trimmed(text.substr(group.items[i].first, group.items[i].second - group.items[i].first));
  }
  return replaced(text, group.begin, group.end, items);
}

std::string without_label(std::string item) {
  const size_t word = end_of_word(item, 0);
  return word > 0 && item.compare(word, 2, ": ") == 0 ? item.substr(word + 2) : item;
}

/// Appends what remains if an item is one of its operands: a name, a call or a number at its outermost level.
void append_operands(const std::string& text, size_t begin, size_t end, std::vector<std::string>& out) {
  int depth = 0;
  size_t operand = begin;
  std::vector<std::string> operands;
  for (size_t at = begin; at <= end; ++at) {
    if (at < end) depth += is_open(text[at]) - is_close(text[at]);
    const bool is_operator = at == end || (depth == 0 && text[at] == ' ' && at + 2 < end && !is_word(text[at + 1]) &&
                                           !is_open(text[at + 1]) && text[at + 1] != '-');
    const bool is_minus = at < end && depth == 0 && text.compare(at, 3, " - ") == 0;
    if (!is_operator && !is_minus) continue;
    operands.push_back(trimmed(text.substr(operand, at - operand)));
    if (at < end) operand = at = text.find(' ', at + 1);
    if (at == std::string::npos) break;
  }
  if (operands.size() < 2) return;
  for (const std::string& one : operands) {
    if (!one.empty()) out.push_back(replaced(text, begin, end, (text[begin] == ' ' ? " " : "") + one));
  }
}

void append_without_group(const std::string& line, const Group& group, std::vector<std::string>& out) {
  const size_t open = group.begin - 1, close = std::min(group.end + 1, line.size());
  const size_t callee = begin_of_word(line, open);
  for (size_t i = 0; i < group.items.size(); ++i) {
    const auto [begin, end] = group.items[i];
    const std::string item = without_label(trimmed(line.substr(begin, end - begin)));
    if (line[open] == '(' || callee == open) out.push_back(replaced(line, callee, close, item));
    if (line[open] != '(' || i > 0) out.push_back(without_item(line, group, i));
    append_operands(line, begin, end, out);
  }
  if (line[open] == '[' && callee < open) out.push_back(replaced(line, open, close, ""));
}

}  // namespace

std::optional<Binding> binding_of(const std::string& line) {
  if (line.rfind("let ", 0) != 0 && line.rfind("var ", 0) != 0) return std::nullopt;
  const size_t end = end_of_word(line, 4);
  if (end == 4 || line.compare(end, 3, " = ") != 0) return std::nullopt;
  return Binding{line.substr(4, end - 4), line.substr(end + 3)};
}

std::vector<std::string> identifiers(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_word(text, at);
    if (end == at) {
      ++at;
      continue;
    }
    const std::string word = text.substr(at, end - at);
    const bool is_name = !std::isdigit(static_cast<unsigned char>(word[0])) && (at == 0 || text[at - 1] != '.');
    const bool is_other = end < text.size() && (text[end] == '(' || text[end] == ':');
    if (is_name && !is_other && std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    at = end;
  }
  return out;
}

std::string with_name(const std::string& line, const std::string& name, const std::string& other) {
  std::string out;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::max(end_of_word(line, at), at + 1);
    const std::string word = line.substr(at, end - at);
    out += word == name && (end == line.size() || line.compare(end, 2, ": ") != 0) ? other : word;
    at = end;
  }
  return out;
}

std::string function_of_head(const std::string& line) {
  const size_t fn = line.rfind("fn ", 0) == 0 ? 0 : line.find("\nfn ");
  if (fn == std::string::npos) return "";
  const size_t begin = line.find("fn ", fn) + 3;
  return line.substr(begin, end_of_word(line, begin) - begin);
}

std::string without_argument(const std::string& line, const std::string& function, size_t argument) {
  std::string out = line;
  for (size_t at = 0; (at = out.find(function + "(", at)) != std::string::npos; ++at) {
    if (at > 0 && is_word(out[at - 1])) continue;
    const Group group = group_at(out, at + function.size() + 1);
    if (argument < group.items.size()) out = without_item(out, group, argument);
  }
  return out;
}

std::vector<std::string> simpler_lines(const std::string& line) {
  std::vector<std::string> out;
  if (line.find("fn ") != std::string::npos) return out;
  for (size_t at = 0; at < line.size(); ++at) {
    if (is_open(line[at])) append_without_group(line, group_at(line, at + 1), out);
  }
  const size_t value = line.find(" = ");
  if (value != std::string::npos) append_operands(line, value + 3, line.size(), out);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return out;
}

}  // namespace tsl
