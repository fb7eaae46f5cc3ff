// What files are that TSL does not read, and how to make of them ones that it reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tsl {

/// A kind of file that TSL does not read.
struct OtherFile {
  std::string what;  // "a JPEG image"
  std::string hint;  // what makes a file that TSL reads; "" if nothing does
};

/// Recognises a file by how it begins, or else by the extension of its path; nothing if it may be text.
std::optional<OtherFile> other_file(const std::string& path, std::string_view begin);

/// As other_file(), for a file that has not been read, and perhaps does not exist.
std::optional<OtherFile> other_file(const std::string& path);

/// Returns where a text has a byte that no text has; npos if it has none.
size_t find_binary(std::string_view text);

}  // namespace tsl
