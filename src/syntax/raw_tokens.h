// Reads a text as the generated lexer alone sees it, for errors: where a broken statement ends, and what it looks like.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tsl {

struct RawToken {
  size_t type;  // of the lexer; an f-string is one STRING
  uint32_t begin;
  uint32_t end;
};

/// Returns the tokens from an offset to another, without comments. Characters that start no token are tokens, too.
std::vector<RawToken> raw_tokens(std::string_view text, uint32_t begin, uint32_t end);

}  // namespace tsl
