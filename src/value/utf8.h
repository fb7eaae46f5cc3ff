// Indexes strings by code points. Each invalid byte counts as one.
#pragma once

#include <cstddef>
#include <string_view>

namespace tsl {

inline bool is_ascii(std::string_view text) {
  for (char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
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

inline size_t utf8_length(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += utf8_width(text, at)) ++count;
  return count;
}

/// Returns the byte offset of the code point with this number; text.size() beyond the end.
inline size_t utf8_offset(std::string_view text, size_t number) {
  size_t at = 0;
  for (; number > 0 && at < text.size(); --number) at += utf8_width(text, at);
  return at;
}

}  // namespace tsl
