// Cuts a text into parts that can be read each by itself.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tsl::analysis {

/// Returns where the parts of a text begin, the first at 0: each begins a line and holds whole statements with the
/// comments before them. If brackets do not match, a declaration that is not indented begins a part, too.
std::vector<size_t> part_starts(std::string_view text);

}  // namespace tsl::analysis
