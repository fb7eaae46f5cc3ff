// Files as such: whether there are any, their names, and adding to them.
#pragma once

#include <string>
#include <string_view>

#include "value/value.h"

namespace tsl {

/// Throws Failure (value) if a path has a NUL, at which the system would end it. `parameter`: has the path.
void require_path(std::string_view path, std::string_view parameter);
/// Whether there is a file or a folder.
bool path_exists(const std::string& path);
/// Makes a folder, and those around it, unless they are there. Throws Failure (io).
void make_folder(const std::string& path);
/// Lists the files of a folder, not its folders, as paths in the order of their bytes. `*` of the pattern stands for
/// any characters and `?` for one; hidden files are those of a pattern that begins with a point. Throws Failure (io).
Value list_files(const std::string& folder, const std::string& pattern);
/// Whether a name matches a pattern.
bool matches_pattern(std::string_view name, std::string_view pattern);
/// Writes a text behind what a file holds, and makes the file if there is none. Throws Failure (io).
void append_text_file(const std::string& path, std::string_view text);

}  // namespace tsl
