// Searches, compares and joins texts of any length: in linear time, and with polls (see count_work).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tsl {

/// Returns where a part begins in a text, at or after `from`; std::string_view::npos if it does not occur.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

/// Returns -1, 0 or 1, as the bytes of the first text are before, equal to or after those of the second.
int compare_texts(std::string_view a, std::string_view b);

inline bool equal_texts(std::string_view a, std::string_view b) {
  return a.size() == b.size() && compare_texts(a, b) == 0;
}

/// Appends to a text, which should have room for it.
void append_text(std::string& to, std::string_view part);

/// Copies a text.
std::string copy_text(std::string_view text);

}  // namespace tsl
