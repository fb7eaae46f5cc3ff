#include "prompt/screen.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "base/display_width.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/terminal.h"
#include "prompt/utf8_text.h"

namespace tsl::prompt {

namespace {

struct Size {
  int columns = 80;
  size_t rows = 24;
};

Size size_of(int terminal) {
  const platform::TerminalSize size = platform::size_of_terminal(terminal);
  if (size.columns == 0 || size.rows == 0) return {};
  return {size.columns, static_cast<size_t>(size.rows)};
}

/// Writes rows, one character after the other.
class RowWriter {
 public:
  RowWriter(int columns, bool color) : columns_(columns), color_(color), rows_{{""}} {}

  void write(std::string_view text, size_t begin, size_t end, Style style) {
    for (size_t at = begin; at < end;) {
      const size_t from = at;
      const wchar_t c = next_code_point(text, at);
      if (c == L'\t') put("  ", 2, style);
      else if (c < L' ' || c == 0x7F) put(fmt::format("^{}", static_cast<char>(c ^ 0x40)), 2, style);
      else if (c >= 0x80 && c < 0xA0) put("\uFFFD", 1, style);  // the terminal would obey it
      else put(text.substr(from, at - from), columns_of(static_cast<char32_t>(c)), style);
    }
  }
  void end_row() {
    set_style(Style::plain);
    rows_.lines.emplace_back();
    column_ = 0;
  }
  void note_cursor() {
    if (column_ >= columns_) end_row();
    rows_.cursor_row = rows_.lines.size() - 1;
    rows_.cursor_column = column_;
  }
  Rows take() {
    set_style(Style::plain);
    return std::move(rows_);
  }

 private:
  void put(std::string_view text, int columns, Style style) {
    if (column_ + columns > columns_) end_row();
    set_style(style);
    rows_.lines.back() += text;
    column_ += columns;
  }
  void set_style(Style style) {
    if (!color_ || style == style_) return;
    if (style_ != Style::plain) rows_.lines.back() += kStyleEnd;
    rows_.lines.back() += start_of(style);
    style_ = style;
  }

  const int columns_;
  const bool color_;
  Rows rows_;
  int column_ = 0;
  Style style_ = Style::plain;
};

}  // namespace

Rows lay_out(const Picture& picture, int columns, bool color) {
  RowWriter writer(std::max(columns, 2), color);
  writer.write(picture.prompt, 0, picture.prompt.size(), Style::prompt);
  const std::string& text = picture.text;
  for (size_t at = 0; at < text.size();) {
    if (at == picture.cursor) writer.note_cursor();
    const size_t from = at;
    next_code_point(text, at);
    if (text[from] != '\n') {
      writer.write(text, from, at, picture.styles.empty() ? Style::plain : picture.styles[from]);
      continue;
    }
    writer.end_row();
    writer.write(picture.continuation, 0, picture.continuation.size(), Style::prompt);
  }
  if (picture.cursor >= text.size()) writer.note_cursor();
  writer.write(picture.suggestion, 0, picture.suggestion.size(), Style::faint);
  for (size_t at = 0; at < picture.below.size();) {
    writer.end_row();
    const size_t end = std::min(picture.below.find('\n', at), picture.below.size());
    writer.write(picture.below, at, end, Style::faint);
    at = end + 1;
  }
  return writer.take();
}

void cut(Rows& rows, size_t height) {
  if (rows.lines.size() <= height) return;
  const size_t last_first = rows.lines.size() - height;
  const size_t first = std::min(rows.cursor_row < height ? 0 : rows.cursor_row - height + 1, last_first);
  rows.lines.erase(rows.lines.begin() + static_cast<ptrdiff_t>(first + height), rows.lines.end());
  rows.lines.erase(rows.lines.begin(), rows.lines.begin() + static_cast<ptrdiff_t>(first));
  rows.cursor_row -= first;
}

void Screen::write(std::string_view sequence) const {
  while (!sequence.empty()) {
    const ptrdiff_t written = platform::write_some(terminal_, sequence.data(), sequence.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;  // nobody is there to be told
    if (written > 0) sequence.remove_prefix(static_cast<size_t>(written));
  }
}

void Screen::show(const Rows& rows, const std::string& after) {
  std::string text = "\033[?25l\r";  // no cursor while it moves
  if (row_ > 0) text += fmt::format("\033[{}A", row_);
  for (size_t i = 0; i < rows.lines.size(); ++i) text += (i > 0 ? "\r\n" : "") + rows.lines[i] + "\033[K";
  write(text + "\033[J" + after + "\033[?25h");
}

void Screen::paint(const Picture& picture) {
  const Size size = size_of(terminal_);
  Rows rows = lay_out(picture, size.columns, color_);
  cut(rows, size.rows);
  std::string to_cursor = "\r";
  if (const size_t up = rows.lines.size() - 1 - rows.cursor_row; up > 0) to_cursor += fmt::format("\033[{}A", up);
  if (rows.cursor_column > 0) to_cursor += fmt::format("\033[{}C", rows.cursor_column);
  show(rows, to_cursor);
  row_ = rows.cursor_row;
}

void Screen::finish(const Picture& picture) {
  show(lay_out(picture, size_of(terminal_).columns, color_), "\r\n");
  row_ = 0;
}

int Screen::columns() const { return size_of(terminal_).columns; }

void Screen::clear() {
  write("\033[H\033[2J");
  row_ = 0;
}

}  // namespace tsl::prompt
