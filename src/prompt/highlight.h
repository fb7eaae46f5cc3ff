// Colours for the text of an entry.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tsl::prompt {

enum class Style : uint8_t { plain, keyword, constant, string, comment, builtin, error, bracket, prompt, faint };

/// Returns the sequence that sets a style of a terminal, which is in no other style.
std::string_view start_of(Style style);
inline constexpr std::string_view kStyleEnd = "\033[0m";

/// Returns the style of each byte of an entry. With the cursor at a bracket, that one and the one that it matches stand
/// out.
std::vector<Style> highlight(std::string_view entry, size_t cursor,
                             const std::function<bool(std::string_view)>& is_builtin);

}  // namespace tsl::prompt
