// Tests how the text of an entry becomes rows of a terminal.
#include "base/platform/terminal.h"
#include "catch.h"
#include "prompt/screen.h"
#include "prompt/utf8_text.h"

using namespace tsl::prompt;
using Lines = std::vector<std::string>;

namespace {

Rows rows_of(const std::string& text, size_t cursor, int columns, const std::string& below = "") {
  const tsl::platform::UnicodeScope unicode;
  return lay_out({">>> ", "... ", text, {}, cursor, below}, columns, false);
}

}  // namespace

TEST_CASE("each line has a prompt, and the cursor a row and a column") {
  const Rows rows = rows_of("ab\ncd", 4, 20);
  CHECK(rows.lines == Lines{">>> ab", "... cd"});
  CHECK(rows.cursor_row == 1);
  CHECK(rows.cursor_column == 5);
}

TEST_CASE("lines longer than the terminal are broken, wide characters as a whole") {
  CHECK(rows_of("abcdefgh", 0, 8).lines == Lines{">>> abcd", "efgh"});
  CHECK(rows_of("abc漢d", 0, 8).lines == Lines{">>> abc", "漢d"});
}

TEST_CASE("a cursor after the last column is in the next row") {
  const Rows rows = rows_of("abcd", 4, 8);
  CHECK(rows.cursor_row == 1);
  CHECK(rows.cursor_column == 0);
}

TEST_CASE("control characters are spelled out, so that no text can move the cursor") {
  CHECK(rows_of("a\033[2Jb", 0, 20).lines == Lines{">>> a^[[2Jb"});
}

TEST_CASE("what is below is not part of the text") {
  const Rows rows = rows_of("x", 1, 20, "one\ntwo");
  CHECK(rows.lines == Lines{">>> x", "one", "two"});
  CHECK(rows.cursor_row == 0);
}

TEST_CASE("of more rows than the screen has, those around the cursor are shown") {
  Rows rows = rows_of("1\n2\n3\n4\n5", 4, 20);  // the cursor is in line 3
  cut(rows, 2);
  CHECK(rows.lines == Lines{"... 2", "... 3"});
  CHECK(rows.cursor_row == 1);
  Rows first = rows_of("1\n2\n3", 0, 20);
  cut(first, 2);
  CHECK(first.lines == Lines{">>> 1", "... 2"});
  CHECK(first.cursor_row == 0);
}

TEST_CASE("styles begin and end within a row") {
  const Rows rows = lay_out({"> ", "  ", "ab", {Style::string, Style::plain}, 0, ""}, 20, true);
  CHECK(rows.lines == Lines{"\033[1;32m> \033[0m\033[32ma\033[0mb"});
}

TEST_CASE("texts are the same after a way through wide characters") {
  const std::string text = "a é 漢 😀";
  CHECK(to_utf8(to_wide(text)) == text);
  CHECK(to_wide(text).size() == 7);
  CHECK(to_utf8(to_wide("\xC3")) == "\xEF\xBF\xBD");
}
