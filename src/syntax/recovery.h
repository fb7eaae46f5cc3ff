// Goes on after a syntax error: the broken part of the text is skipped, and the rest parsed anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "antlr4-runtime.h"

#include "base/error.h"
#include "base/source.h"

namespace tsl {

/// A change to what TokenSource reads of a text.
struct Repair {
  enum class Kind : uint8_t {
    skip,         // the text is skipped
    skip_header,  // it is skipped, and the block behind it is read as that of a loop
    close_block   // the innermost block ends here; no text is skipped
  };
  Kind kind;
  uint32_t begin;
  uint32_t end;
};

/// Where the statement begins in which an offset lies, or, behind a block of that statement, where that block ends.
uint32_t statement_start(const std::vector<antlr4::Token*>& tokens, uint32_t offset);

/// Returns what to skip for an error at an offset in the statement that begins at `start`.
Repair repair_statement(std::string_view text, uint32_t start, uint32_t offset);

/// A '}' that is missing by the indentation of the lines.
struct MissingBrace {
  Span opening;  // the '{' of the block
  Span before;   // the token before which the '}' is missing
};

/// Returns the first '}' that is missing in a text in which a block stays open.
std::optional<MissingBrace> find_missing_brace(const Source& source, uint32_t id,
                                               const std::vector<antlr4::Token*>& tokens);

}  // namespace tsl
