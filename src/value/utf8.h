// Indexes strings by code points. Each invalid byte counts as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tsl {

/// Returns the number of bytes before the first that is not ASCII.
inline size_t ascii_prefix(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080ull;
  size_t at = 0;
  for (uint64_t word; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if (word & kHighBits) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

/// Returns the number of bytes of the code point at `at`, which must be within the text.
inline size_t utf8_width(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t expected = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 1;
  size_t width = 1;
  while (width < expected && at + width < text.size() && (static_cast<unsigned char>(text[at + width]) & 0xC0) == 0x80)
    ++width;
  return width == expected ? width : 1;
}

/// Returns where the first byte is that is part of no code point; std::string_view::npos if there is none.
inline size_t find_malformed(std::string_view text) {
  for (size_t at = ascii_prefix(text); at < text.size(); at += ascii_prefix(text.substr(at))) {
    const size_t width = utf8_width(text, at);
    if (width == 1 && static_cast<unsigned char>(text[at]) >= 0x80) return at;
    at += width;
  }
  return std::string_view::npos;
}

inline size_t utf8_length(std::string_view text) {
  size_t count = ascii_prefix(text);
  for (size_t at = count; at < text.size(); at += utf8_width(text, at)) ++count;
  return count;
}

/// Returns the byte offset of the code point with this number; text.size() beyond the end.
inline size_t utf8_offset(std::string_view text, size_t number) {
  size_t at = ascii_prefix(text.substr(0, number));
  for (number -= at; number > 0 && at < text.size(); --number) at += utf8_width(text, at);
  return at;
}

}  // namespace tsl
