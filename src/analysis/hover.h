// Tells what the name under the cursor is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/names.h"

namespace tsl::analysis {

struct Hover {
  size_t begin = 0, end = 0;  // of the name in the text
  std::string text;           // how it is declared, or its type; then its documentation
};

/// Returns what is known of the name that the byte at `offset` belongs to; nothing if there is no such name. `path` is
/// the file of the text, or empty.
std::optional<Hover> hover(Names& names, std::string_view text, size_t offset, const std::string& path = "");

}  // namespace tsl::analysis
