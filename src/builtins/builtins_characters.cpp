// Defines builtins on the characters of strings: their cases, classes and numbers.
#include <algorithm>
#include <array>

#include "base/error_names.h"
#include "base/long_text.h"
#include "builtins/builtins.h"
#include "value/characters.h"
#include "value/context.h"
#include "value/format.h"
#include "value/text_builder.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

// ---- Cases -----------------------------------------------------------------------------------------

/// Returns a copy of a text with the letters of a range shifted.
std::string shifted(std::string_view given, char first, char last, int shift) {
  require_host_bytes(given.size());
  std::string text = copy_text(given);
  polled_each(text.size(), 1, [&](size_t i) {
    if (text[i] >= first && text[i] <= last) text[i] = static_cast<char>(text[i] + shift);
  });
  return text;
}

bool is_ascii(std::string_view text) {
  count_work(static_cast<int64_t>(text.size() / 8));
  return ascii_prefix(text) == text.size();
}

/// As in_case(), of a character of one byte.
char byte_in_case(LetterCase to, char c) {
  if (to == LetterCase::lower) return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// What the first characters of Unicode, with all that have cases and are used much, become in a case.
class CaseTable {
 public:
  explicit CaseTable(LetterCase to) {
    for (size_t code = kFirst; code < kCount; ++code)  // bounded: by kCount
      texts_[code] = in_case(to, character_of(static_cast<int32_t>(code)));
  }
  /// Returns the text for a character of two bytes; null if the table has none.
  const std::string* find(std::string_view character) const {
    if (character.size() != 2) return nullptr;
    const auto code = static_cast<size_t>((character[0] & 0x1F) << 6 | (character[1] & 0x3F));
    return code >= kFirst && code < kCount ? &texts_[code] : nullptr;
  }
  static const CaseTable& of(LetterCase to) {
    static const CaseTable &kLower = *new CaseTable(LetterCase::lower), &kUpper = *new CaseTable(LetterCase::upper),
                           &kTitle = *new CaseTable(LetterCase::title);
    return to == LetterCase::lower ? kLower : to == LetterCase::upper ? kUpper : kTitle;
  }

 private:
  static constexpr size_t kFirst = 0x80, kCount = 0x590;  // Latin, Greek, Cyrillic and Armenian letters
  std::array<std::string, kCount> texts_;
};

/// Whether a character of three bytes is a letter of East Asia, which has no cases.
bool is_without_case(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  return character.size() == 3 && lead >= 0xE3 && lead <= 0xE9;
}

/// Returns a text with each character in the case that `case_of` gives for it.
template <class CaseOf> Value mapped(std::string_view text, CaseOf case_of) {
  constexpr size_t kPart = 4096;
  TextBuilder result;
  std::string part;
  part.reserve(std::min(kPart, text.size()));
  each_character(text, [&](std::string_view character) {
    const LetterCase to = case_of(character);
    if (character.size() == 1) part += byte_in_case(to, character[0]);
    else if (is_without_case(character)) part += character;
    else if (const std::string* known = CaseTable::of(to).find(character)) part += *known;
    else part += in_case(to, character);
    if (part.size() < kPart) return;
    result += part;
    part.clear();
  });
  result += part;
  return make_string(result.take());
}

Value upper_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "upper's text");
  if (is_ascii(text)) return make_string(shifted(text, 'a', 'z', 'A' - 'a'));
  return mapped(text, [](std::string_view) { return LetterCase::upper; });
}

Value lower_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "lower's text");
  if (is_ascii(text)) return make_string(shifted(text, 'A', 'Z', 'a' - 'A'));
  return mapped(text, [](std::string_view) { return LetterCase::lower; });
}

Value capitalize_builtin(Context& context, Args args) {
  bool is_first = true;
  return mapped(expect_string(context, args[0], "capitalize's text"), [&](std::string_view) {
    return std::exchange(is_first, false) ? LetterCase::title : LetterCase::lower;
  });
}

bool has_case(int32_t code) { return is_upper_case(code) || is_lower_case(code) || is_title_case(code); }

Value title_builtin(Context& context, Args args) {
  bool is_in_word = false;
  return mapped(expect_string(context, args[0], "title's text"), [&](std::string_view character) {
    const bool goes_on = std::exchange(is_in_word, has_case(code_point_of(character)));
    return goes_on ? LetterCase::lower : LetterCase::title;
  });
}

// ---- Classes ---------------------------------------------------------------------------------------

/// Whether a text has characters, and all of them are of the class.
template <class IsIn> bool are_all(std::string_view text, IsIn is_in) {
  bool all = !text.empty();
  each_character(text, [&](std::string_view character) { all = all && is_in(code_point_of(character)); });
  return all;
}

bool is_letter_or_number(int32_t code) { return is_letter(code) || is_number_sign(code); }

template <bool (*kIsIn)(int32_t)> Value is_class_builtin(Context& context, Args args) {
  return are_all(expect_string(context, args[0], "the text"), kIsIn);
}

/// Whether a text has letters of the case, and none of another one.
template <bool (*kIsIn)(int32_t)> Value is_case_builtin(Context& context, Args args) {
  bool any = false, others = false;
  each_character(expect_string(context, args[0], "the text"), [&](std::string_view character) {
    const int32_t code = code_point_of(character);
    if (kIsIn(code)) any = true;
    else others |= has_case(code);
  });
  return any && !others;
}

// ---- Numbers ---------------------------------------------------------------------------------------

Value ord_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "ord's character");
  if (text.empty() || utf8_width(text, 0) != text.size()) {
    fail_with(ErrorName::argument_out_of_range,
              fmt::format("ord takes a str of one character, got one of {}",
                          expect_text(context, args[0], "ord's character").code_points().count()),
              {"`map(ord, s)` makes a list of the code points of a str"});
  }
  const int32_t code = code_point_of(text);
  if (code < 0) fail(ErrorName::argument_out_of_range, "ord: {} is no character", quoted(text));
  return Value(static_cast<int64_t>(code));
}

Value chr_builtin(Context& context, Args args) {
  const int64_t code = expect_int(context, args[0], "chr's code point");
  if (!is_code_point(code)) fail(ErrorName::argument_out_of_range, "chr: {} is no code point of a character", code);
  return make_string(character_of(static_cast<int32_t>(code)));
}

constexpr Builtin kCharactersRows[] = {
    {"upper", "upper(text: str)", "text in capitals; `ß` becomes `SS`", upper_builtin, "host"},
    {"lower", "lower(text: str)", "text in small letters", lower_builtin, "host"},
    {"title", "title(text: str)", "text with a capital at the start of each word, and small letters behind it",
     title_builtin, "host"},
    {"capitalize", "capitalize(text: str)", "text with a capital at its start, and small letters behind it",
     capitalize_builtin, "host"},
    {"isalpha", "isalpha(text: str)", "whether text has characters, all of them letters", is_class_builtin<is_letter>,
     "host"},
    {"isdigit", "isdigit(text: str)", "whether text has characters, all of them decimal digits",
     is_class_builtin<is_decimal_digit>, "host"},
    {"isalnum", "isalnum(text: str)", "whether text has characters, all of them letters or numbers",
     is_class_builtin<is_letter_or_number>, "host"},
    {"isspace", "isspace(text: str)", "whether text has characters, all of them white space",
     is_class_builtin<is_white_space>, "host"},
    {"isupper", "isupper(text: str)", "whether text has capitals, and no small letters", is_case_builtin<is_upper_case>,
     "host"},
    {"islower", "islower(text: str)", "whether text has small letters, and no capitals", is_case_builtin<is_lower_case>,
     "host"},
    {"ord", "ord(character: str)", "the code point of a str of one character, an int", ord_builtin, "host"},
    {"chr", "chr(code: integer)", "the character with the code point", chr_builtin, "host"},
};

}  // namespace

std::span<const Builtin> character_builtins() { return kCharactersRows; }

}  // namespace tsl
