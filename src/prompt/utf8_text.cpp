#include "prompt/utf8_text.h"

#include <cstdint>

namespace tsl::prompt {

wchar_t next_code_point(std::string_view text, size_t& at) {
  constexpr wchar_t kReplacement = 0xFFFD;
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return static_cast<wchar_t>(first);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  if (more == 0) return kReplacement;
  auto point = static_cast<wchar_t>(first & (0x3F >> more));
  for (int i = 0; i < more; ++i) {
    if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) return kReplacement;
    point = (point << 6) | (static_cast<unsigned char>(text[at++]) & 0x3F);
  }
  return point;
}

std::wstring to_wide(std::string_view text) {
  std::wstring wide;
  for (size_t at = 0; at < text.size();) wide += next_code_point(text, at);
  return wide;
}

std::string to_utf8(std::wstring_view text) {
  std::string result;
  const auto add = [&](uint32_t byte) { result += static_cast<char>(byte); };
  for (const wchar_t c : text) {
    const auto point = static_cast<uint32_t>(c);
    if (point < 0x80) {
      add(point);
      continue;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    constexpr uint32_t kFirst[] = {0, 0xC0, 0xE0, 0xF0};
    add(kFirst[more] | point >> (6 * more));
    for (int i = more - 1; i >= 0; --i) add(0x80 | (point >> (6 * i) & 0x3F));
  }
  return result;
}

}  // namespace tsl::prompt
