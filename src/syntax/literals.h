// Reads the values of literal tokens.
#pragma once

#include <string>
#include <string_view>

#include "base/source.h"

namespace tsl {

/// The value of a number token. `dtype` is its suffix, empty for a plain int or float.
struct Number {
  bool is_integer = true;
  int64_t integer = 0;
  double real = 0;
  std::string_view dtype;
};

/// The suffix of an imaginary number: 2i, 0.5i.
inline constexpr std::string_view kImaginary = "i";

/// Reads `42`, `1_000`, `0xff`, `1.5e-3`, `2i32`, `2i`. With `negative` the value is that of `-text`, whose range
/// extends one further. `span` is the token's. Throws Failure (syntax) at the span.
Number read_number(std::string_view text, Span span, bool negative);

/// Whether a string that begins with its quotes has three of them on each side: it may have several lines.
bool is_long_string(std::string_view text);
/// Returns a text with each "\r\n" as "\n": what a program says does not depend on how its lines end.
std::string with_unix_lines(std::string_view text);

/// Decodes the escapes, and the ends of lines, in the text between quotes; `in_fstring` also turns `{{` and `}}` into
/// braces. `span` starts where `text` does. Throws Failure (syntax) at a malformed escape.
std::string decode_text(std::string_view text, Span span, bool in_fstring);
/// Escapes a text for a place between quotes, so that decode_text() gives it back.
std::string encode_text(std::string_view text, bool in_fstring);

}  // namespace tsl
