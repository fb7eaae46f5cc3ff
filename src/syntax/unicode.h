// The parts of Unicode that lexing needs.
#pragma once

#include <cstdint>
#include <string_view>

namespace tsl {

struct CodePoint {
  uint32_t value = 0;
  uint32_t size = 0;  // in bytes; 0 where no valid sequence starts
};

/// Decodes the first code point. Overlong forms and surrogates are invalid.
CodePoint decode_utf8(std::string_view text);

/// Returns the offset of the first byte that is not valid UTF-8, or npos.
size_t find_invalid_utf8(std::string_view text);

/// Returns the offset of the first code point that cannot be part of a name (spaces, punctuation and symbols beyond
/// ASCII), or npos. Expects valid UTF-8 that the lexer accepted as a name.
size_t find_unnameable(std::string_view name);

/// A character that word processors and web pages put for one of the source's.
struct Lookalike {
  uint32_t point;
  std::string_view name, hint;
};

/// Returns what the code point stands for, or null.
const Lookalike* lookalike(uint32_t point);

}  // namespace tsl
