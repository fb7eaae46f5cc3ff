// A text that is open in an editor, and positions in it as the editor counts them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/protocol.h"

namespace tsl::lsp {

/// What the characters of a position count.
enum class Encoding : uint8_t { utf8, utf16 };

struct Position {
  uint32_t line = 0;
  uint32_t character = 0;
};

/// Returns the length of a text in an encoding's units.
size_t units_of(std::string_view text, Encoding encoding);

class Document {
 public:
  Document(std::string uri, std::string text, Encoding encoding);

  const std::string& uri() const { return uri_; }
  /// The file, without links; "" if it has none.
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  Encoding encoding() const { return encoding_; }

  void set_text(std::string text);
  /// Replaces what is between two positions, in either order.
  void replace(Position from, Position to, std::string_view text);

  /// Returns the byte of a position: one beyond its line is its end, one beyond the text is the text's end.
  size_t offset_at(Position position) const;
  Position position_at(size_t offset) const;
  /// The range of some bytes, as the protocol writes it.
  Json range_of(size_t begin, size_t end) const;

  Json diagnostics = Json::array();  // that were published
  Json version;                      // the editor's; null if it gave none

 private:
  std::string uri_;
  std::string path_;
  std::string text_;
  Encoding encoding_;
  std::vector<size_t> line_starts_;
};

/// Reads a position. Throws an exception of Json if it is none.
Position read_position(const Json& json);

/// Returns the path of a file's URI; "" for another one.
std::string path_of(std::string_view uri);
/// Returns the URI of a path.
std::string uri_of(std::string_view path);

}  // namespace tsl::lsp
