#include "analysis/cursor.h"

#include <algorithm>

namespace tsl::analysis {

namespace {

bool is_word(const TextToken& token) {
  return token.kind == TokenClass::name || token.kind == TokenClass::keyword || token.kind == TokenClass::constant;
}

}  // namespace

Cursor::Cursor(std::string_view text, size_t offset)
    : text_(text.substr(0, offset)), tokens_(tokens_of(text_)), word_(text_.size()) {
  if (tokens_.empty() || !is_word(tokens_.back()) || tokens_.back().end != text_.size()) return;
  word_ = tokens_.back().begin;
  tokens_.pop_back();
}

std::string_view Cursor::text_of(size_t token) const {
  return text_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
}

bool Cursor::ends_with(std::string_view token) const {
  return !tokens_.empty() && text_of(tokens_.size() - 1) == token;
}

bool Cursor::is_in_comment() const {
  return !tokens_.empty() && tokens_.back().kind == TokenClass::comment &&
         text_.find('\n', tokens_.back().begin) == std::string_view::npos;
}

std::optional<size_t> Cursor::open_string() const {
  if (tokens_.empty() || tokens_.back().kind != TokenClass::error || word_ != text_.size()) return {};
  const size_t quote = tokens_.back().begin;
  if (text_[quote] != '"' || text_.find('\n', quote) != std::string_view::npos) return {};
  return quote + 1;
}

std::optional<OpenCall> Cursor::open_call() const {
  OpenCall call;
  int depth = 0;
  size_t argument = tokens_.size();  // where the one at the cursor begins
  for (size_t i = tokens_.size(); i-- > 0;) {
    if (tokens_[i].kind == TokenClass::closing) ++depth;
    if (depth == 0 && text_of(i) == ",") {
      if (call.position++ == 0) argument = i + 1;
    }
    if (tokens_[i].kind != TokenClass::opening || depth-- > 0) continue;
    if (text_of(i) != "(") return {};
    if (call.position == 0) argument = i + 1;
    if (argument + 1 < tokens_.size() && tokens_[argument].kind == TokenClass::name && text_of(argument + 1) == ":")
      call.name = text_of(argument);
    call.bracket = i;
    return call;
  }
  return {};
}

size_t Cursor::path_begin(size_t token) const {
  size_t first = token;
  while (first > 0 && tokens_[first - 1].kind == TokenClass::name) {
    --first;
    if (first == 0 || text_of(first - 1) != ".") break;
    --first;
  }
  return first;
}

std::vector<std::string_view> Cursor::path_before(size_t token) const {
  const size_t first = path_begin(token);
  if (first == token || tokens_[first].kind != TokenClass::name) return {};
  std::vector<std::string_view> path;
  for (size_t i = first; i < token; i += 2) path.push_back(text_of(i));
  return path;
}

}  // namespace tsl::analysis
