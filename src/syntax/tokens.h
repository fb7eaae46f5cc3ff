// The tokens of a text as an editor needs them: of any text, also while it is being typed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tsl {

enum class TokenClass : uint8_t {
  keyword,
  constant,  // true, false, nil
  number,
  string,  // also the texts of an f-string, between its holes
  comment,
  name,
  operation,  // operators, commas, dots, colons
  opening,    // brackets, and the braces of an f-string's holes
  closing,
  error,
};

/// A token and its bytes.
struct TextToken {
  TokenClass kind;
  uint32_t begin, end;
};

/// Returns the words that cannot be names, in alphabetical order.
std::span<const std::string_view> keywords();

/// Returns the tokens of a text in order, comments included. What is no token is an error up to the end of its line,
/// and brackets count from there anew.
std::vector<TextToken> tokens_of(std::string_view text);

}  // namespace tsl
