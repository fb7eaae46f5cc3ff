// Finds where a variable is declared and used, for going to its declaration, and for renaming.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/names.h"

namespace tsl::analysis {

struct Occurrences {
  Span declaration;         // of the name, in the text
  std::vector<Span> spans;  // of all occurrences in the order of the text, that one included
};

/// Returns the occurrences of the variable that the byte at `offset` belongs to; nothing if it belongs to none that the
/// text declares. `path` is the file of the text, or empty.
std::optional<Occurrences> find_occurrences(Names& names, std::string_view text, size_t offset,
                                            const std::string& path = "");

}  // namespace tsl::analysis
