// Where a prompt's entries come from.
#pragma once

#include <memory>
#include <string>

namespace tsl {
class Engine;
}

namespace tsl::prompt {

class History;

class EntryReader {
 public:
  virtual ~EntryReader() = default;
  /// Reads an entry of one or more lines. Returns false at the end of the input.
  virtual bool read(std::string& entry) = 0;
};

/// Reads standard input line by line, and shows `>>> ` if it is a terminal.
std::unique_ptr<EntryReader> make_plain_reader(Engine& engine);

/// Edits entries on the terminal; null without one that can move its cursor, or in a build without libedit.
std::unique_ptr<EntryReader> make_line_editor(Engine& engine, History& history, bool color);

}  // namespace tsl::prompt
