#include "value/characters.h"

#include <utf8proc.h>

#include <array>

namespace tsl {

namespace {

constexpr size_t kMostBytes = 4;      // of a character in UTF-8
constexpr size_t kMostFoldings = 18;  // code points that one may become, with room to spare

utf8proc_category_t category_of(int32_t code) { return code < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(code); }

/// Whether a character is set apart from others by Unicode as white space; the controls are those that Python takes.
bool is_space_control(int32_t code) {
  return (code >= '\t' && code <= '\r') || (code >= 0x1C && code <= 0x1F) || code == 0x85;
}

/// Returns the code points of a character's case folding: several where its upper case has no character of its own.
size_t fold(int32_t code, std::array<utf8proc_int32_t, kMostFoldings>& to) {
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(code, to.data(), kMostFoldings, UTF8PROC_CASEFOLD, &boundary);
  return count > 0 && static_cast<size_t>(count) <= kMostFoldings ? static_cast<size_t>(count) : 0;
}

}  // namespace

int32_t code_point_of(std::string_view character) {
  utf8proc_int32_t code = -1;
  const auto size = static_cast<utf8proc_ssize_t>(character.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(character.data());
  return utf8proc_iterate(bytes, size, &code) == size ? code : -1;
}

bool is_code_point(int64_t number) {
  return number >= 0 && number <= 0x10FFFF && utf8proc_codepoint_valid(static_cast<utf8proc_int32_t>(number));
}

std::string character_of(int32_t code) {
  std::array<utf8proc_uint8_t, kMostBytes> bytes{};
  const utf8proc_ssize_t size = utf8proc_encode_char(code, bytes.data());
  return std::string(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size));
}

bool is_letter(int32_t code) {
  const utf8proc_category_t category = category_of(code);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal_digit(int32_t code) { return category_of(code) == UTF8PROC_CATEGORY_ND; }

bool is_number_sign(int32_t code) {
  const utf8proc_category_t category = category_of(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_white_space(int32_t code) {
  const utf8proc_category_t category = category_of(code);
  return is_space_control(code) || (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

bool is_upper_case(int32_t code) { return code >= 0 && !is_title_case(code) && utf8proc_isupper(code) != 0; }
bool is_lower_case(int32_t code) { return code >= 0 && utf8proc_islower(code) != 0; }
bool is_title_case(int32_t code) { return category_of(code) == UTF8PROC_CATEGORY_LT; }

std::string in_case(LetterCase to, std::string_view character) {
  const int32_t code = code_point_of(character);
  if (code < 0) return std::string(character);
  constexpr int32_t kDottedI = 0x130;  // the one letter whose small form is two characters
  if (to == LetterCase::lower && code == kDottedI) return "i\u0307";
  if (to == LetterCase::lower) return character_of(utf8proc_tolower(code));
  std::array<utf8proc_int32_t, kMostFoldings> folded{};
  const bool has_character = is_upper_case(code) || (to == LetterCase::title && is_title_case(utf8proc_totitle(code)));
  const size_t count = has_character ? 1 : fold(code, folded);
  if (count <= 1) return character_of(to == LetterCase::upper ? utf8proc_toupper(code) : utf8proc_totitle(code));
  std::string text;
  // bounded: by kMostFoldings
  for (size_t i = 0; i < count; ++i)
    text += character_of(i == 0 || to == LetterCase::upper ? utf8proc_toupper(folded[i]) : folded[i]);
  return text;
}

size_t character_number(const CodePoints& points, size_t offset) {
  size_t low = 0, high = points.count();  // of the numbers that it may be
  while (low < high) {                    // bounded: by the bits of a number
    const size_t middle = low + (high - low) / 2;
    if (points.offset(middle) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace tsl
