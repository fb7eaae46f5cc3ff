// What the text of an entry says to an editor: whether it goes on, and how far its next line is indented.
#pragma once

#include <string>
#include <string_view>

namespace tsl::prompt {

inline constexpr size_t kIndent = 2;  // columns for each open bracket

inline constexpr std::string_view kBlanks = " \t\n";
inline constexpr std::string_view kCommandMarks = ":?!";  // what a command begins with

/// Returns the text without blanks at its ends.
std::string without_blanks(std::string_view text);

/// Returns the code of a recorded session, `>>> 1 + 1` and what follows: without its prompts and its results. Any other
/// text stays as it is.
std::string without_prompts(std::string_view text);

/// Returns the code without a `;` at its end, and without comments behind it.
std::string_view without_semicolon(std::string_view code);

/// Whether the entry is a command: `:time f()`, `?sum`, `sum?` or `!ls`.
bool is_command(std::string_view entry);

/// Returns the name that an entry `name?` asks about; "" if it is no such entry.
std::string_view asked_name(std::string_view entry);

/// Whether Enter ends the entry: it does unless the parser expects more, or what its last line documents with `##`.
bool is_complete(const std::string& entry);

/// Returns how many blanks a line after this text begins with: those of the line with the innermost open bracket, and
/// kIndent more; none without an open bracket.
size_t indentation_after(std::string_view text);

/// Whether the entry ends in ';', so that its value is not shown.
bool is_quiet(std::string_view entry);

}  // namespace tsl::prompt
