// Converts between UTF-8 and the wide characters of line editors.
#pragma once

#include <string>
#include <string_view>

namespace tsl::prompt {

std::wstring to_wide(std::string_view text);
std::string to_utf8(std::wstring_view text);

/// Reads the code point at `at`, and moves `at` behind it. A byte that begins none counts as U+FFFD.
wchar_t next_code_point(std::string_view text, size_t& at);

}  // namespace tsl::prompt
