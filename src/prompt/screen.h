// Paints the entry that is being edited: its lines, coloured, and what is shown below them.
#pragma once

#include <string>
#include <vector>

#include "prompt/highlight.h"

namespace tsl::prompt {

/// What is to be seen.
struct Picture {
  std::string prompt;           // before the first line
  std::string continuation;     // before the others, as wide as `prompt`
  std::string text;             // UTF-8
  std::vector<Style> styles{};  // of its bytes; empty: plain
  size_t cursor = 0;            // in bytes
  std::string below{};          // lines of plain text, faint
  std::string suggestion{};     // how the text may go on, faint
};

/// A picture in rows of a terminal.
struct Rows {
  std::vector<std::string> lines;  // with sequences for styles
  size_t cursor_row = 0;
  int cursor_column = 0;
};

/// Breaks a picture into rows. Without `color` they have no sequences.
Rows lay_out(const Picture& picture, int columns, bool color);

/// Cuts rows to those that fit a screen, with the cursor among them.
void cut(Rows& rows, size_t height);

/// A terminal below the last output. It is written at once, so that nobody sees a picture half painted.
class Screen {
 public:
  Screen(int terminal, bool color) : terminal_(terminal), color_(color) {}

  void paint(const Picture& picture);
  /// Paints all of a picture, however many rows it has, and moves below it.
  void finish(const Picture& picture);
  /// Empties the screen: the next picture is at its top.
  void clear();
  void write(std::string_view sequence) const;
  int columns() const;
  bool has_color() const { return color_; }

 private:
  void show(const Rows& rows, const std::string& after);

  const int terminal_;
  const bool color_;
  size_t row_ = 0;  // of the cursor, in the last picture
};

}  // namespace tsl::prompt
