// How text appears on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tsl {

/// Returns how many columns a character takes: 0 for one that combines with others, 2 for a wide one, else 1.
int columns_of(char32_t c);

/// Returns the columns that UTF-8 text takes. A byte that begins no character counts as one.
size_t display_width(std::string_view text);

/// Returns the start of a line that fits into `width` columns (0: all of it), with a mark if something is missing.
/// Colours take no columns, and end where the line is cut.
std::string cut_to_width(std::string_view line, size_t width);

/// Spells what controls a terminal or the direction of text, but for new lines and tabs: \u{1b}.
std::string spell_controls(std::string_view text);
/// Puts a blank in place of each such character, new lines and tabs as well.
std::string blank_controls(std::string_view text);

}  // namespace tsl
