// How wide text is on a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace tsl {

/// Returns how many columns a character takes: 0 for one that combines with others, 2 for a wide one, else 1.
int columns_of(char32_t c);

/// Returns the columns that UTF-8 text takes. A byte that begins no character counts as one.
size_t display_width(std::string_view text);

}  // namespace tsl
