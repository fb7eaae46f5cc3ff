// What is wrong with a text that is no JSON, and where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tsl {

/// A token that is none of JSON.
struct JsonProblem {
  size_t at = 0;  // the byte
  std::string what, hint;
};

/// Returns where the last token begins that begins before `end`. All tokens before it are well formed.
size_t last_token(std::string_view text, size_t end);

/// Returns the token at a place: a string without its end, a word or a number, or one character.
std::string_view token_at(std::string_view text, size_t begin);

/// Whether the token at a place is a word or a number that JSON does not have.
bool is_wrong_word(std::string_view text, size_t begin);

/// Says what is wrong with the number or the string at a place; nothing if it is neither, or well formed.
std::optional<JsonProblem> problem_of_token(std::string_view text, size_t begin);

}  // namespace tsl
