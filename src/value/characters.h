// Classes and cases of characters, for all of Unicode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/count_work.h"
#include "value/code_points.h"

namespace tsl {

/// Returns the code point of a character that utf8_width() has found; -1 for a byte that is part of none.
int32_t code_point_of(std::string_view character);
/// Whether a number is that of a character: no surrogate, and not beyond Unicode.
bool is_code_point(int64_t number);
/// Returns the character of a code point, in UTF-8.
std::string character_of(int32_t code);

// -1 is in none of these classes.
bool is_letter(int32_t code);
bool is_decimal_digit(int32_t code);
bool is_number_sign(int32_t code);  // decimal digits, and signs such as ½ and Ⅷ
bool is_white_space(int32_t code);
bool is_upper_case(int32_t code);
bool is_lower_case(int32_t code);
bool is_title_case(int32_t code);  // capital and small letter in one, such as ǅ

/// The forms of a letter: STRASSE, Straße, straße.
enum class LetterCase { upper, title, lower };
/// Returns a character in a case, which may be several: `ß` is `SS` in upper case.
std::string in_case(LetterCase to, std::string_view character);

/// Returns the number of the character that begins at this byte offset.
size_t character_number(const CodePoints& points, size_t offset);

/// Calls body(character) for each character of a text; a byte that is part of none is one, too.
template <class Body> void each_character(std::string_view text, Body&& body) {
  constexpr int64_t kCharacterWork = 8;
  for (size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, utf8_width(text, at));
    count_work(kCharacterWork);
    body(character);
    at += character.size();
  }
}

}  // namespace tsl
