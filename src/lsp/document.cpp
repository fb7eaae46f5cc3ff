#include "lsp/document.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace tsl::lsp {

namespace {

constexpr std::string_view kFileScheme = "file://";

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Returns how many units a character takes that begins with this byte.
size_t units_of_character(char first, size_t bytes, Encoding encoding) {
  constexpr unsigned char kFourBytes = 0xF0;
  if (encoding == Encoding::utf8) return bytes;
  return static_cast<unsigned char>(first) >= kFourBytes ? 2 : 1;
}

size_t end_of_character(std::string_view text, size_t at) {
  do ++at;
  while (at < text.size() && continues_character(text[at]));
  return at;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

size_t units_of(std::string_view text, Encoding encoding) {
  size_t units = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_character(text, at);
    units += units_of_character(text[at], end - at, encoding);
    at = end;
  }
  return units;
}

Document::Document(std::string uri, std::string text, Encoding encoding) : uri_(std::move(uri)), encoding_(encoding) {
  path_ = path_of(uri_);
  std::error_code failed;
  if (!path_.empty()) {
    const std::filesystem::path real = std::filesystem::weakly_canonical(path_, failed);
    if (!failed) path_ = real.string();
  }
  set_text(std::move(text));
}

void Document::set_text(std::string text) {
  text_ = std::move(text);
  line_starts_ = {0};
  for (size_t at = 0; (at = text_.find_first_of("\r\n", at)) != std::string::npos; line_starts_.push_back(at))
    at += text_.compare(at, 2, "\r\n") == 0 ? 2 : 1;
}

void Document::replace(Position from, Position to, std::string_view text) {
  const size_t one = offset_at(from), other = offset_at(to);
  const size_t begin = std::min(one, other), end = std::max(one, other);
  std::string changed;
  changed.reserve(text_.size() + text.size());
  changed.append(text_, 0, begin).append(text).append(text_, end);
  set_text(std::move(changed));
}

size_t Document::offset_at(Position position) const {
  if (position.line >= line_starts_.size()) return text_.size();
  const size_t begin = line_starts_[position.line];
  const size_t end = std::min(text_.find_first_of("\r\n", begin), text_.size());
  size_t at = begin;
  for (size_t units = 0; at < end;) {
    const size_t next = end_of_character(text_, at);
    units += units_of_character(text_[at], next - at, encoding_);
    if (units > position.character) break;  // also within a character
    at = next;
  }
  return at;
}

Position Document::position_at(size_t offset) const {
  offset = std::min(offset, text_.size());
  while (offset > 0 && offset < text_.size() && continues_character(text_[offset])) --offset;
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const size_t line = static_cast<size_t>(after - line_starts_.begin()) - 1;
  const size_t begin = line_starts_[line];
  const size_t units = units_of(std::string_view(text_).substr(begin, offset - begin), encoding_);
  return {static_cast<uint32_t>(line), static_cast<uint32_t>(units)};
}

Json Document::range_of(size_t begin, size_t end) const {
  const auto json = [](Position at) { return Json{{"line", at.line}, {"character", at.character}}; };
  return {{"start", json(position_at(begin))}, {"end", json(position_at(end))}};
}

Position read_position(const Json& json) {
  const auto number = [&](const char* key) {
    const auto value = json.at(key).get<int64_t>();
    return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
  };
  return {number("line"), number("character")};
}

std::string path_of(std::string_view uri) {
  if (!uri.starts_with(kFileScheme)) return "";
  const size_t begin = uri.find('/', kFileScheme.size());  // behind a host
  if (begin == std::string_view::npos) return "";
  std::string path;
  for (size_t at = begin; at < uri.size(); ++at) {
    const bool is_escape =
        uri[at] == '%' && at + 2 < uri.size() && hex_digit(uri[at + 1]) >= 0 && hex_digit(uri[at + 2]) >= 0;
    if (!is_escape) {
      path += uri[at];
      continue;
    }
    path += static_cast<char>(hex_digit(uri[at + 1]) * 16 + hex_digit(uri[at + 2]));
    at += 2;
  }
  return path.find('\0') == std::string::npos ? path : "";
}

std::string uri_of(std::string_view path) {
  constexpr std::string_view kPlain = "/-._~";
  std::string uri(kFileScheme);
  for (const char c : path) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
    if (is_plain) uri += c;
    else uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

}  // namespace tsl::lsp
