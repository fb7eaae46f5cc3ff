// Tests how wide text is on a terminal.
#include "base/display_width.h"
#include "base/error.h"
#include "catch.h"

using namespace tsl;

TEST_CASE("text is as wide as a terminal shows it", "[base]") {
  CHECK(display_width("") == 0);
  CHECK(display_width("größe") == 5);
  CHECK(display_width("漢字") == 4);
  CHECK(display_width("e\u0301x") == 2);
  CHECK(display_width("😀 ok") == 5);
  CHECK(display_width("Привет αβγ") == 10);
  CHECK(display_width("\xff\xe6") == 2);  // no characters
  CHECK(columns_of(0xAD) == 1);
  CHECK(columns_of(0x10FFFF) == 1);
}

TEST_CASE("a caret is below the text that it is about, however wide that is", "[base]") {
  SourceMap sources;
  const auto shown = [&](const std::string& text, const std::string& word) {
    const uint32_t source = sources.add("a.tsl", text);
    const auto begin = static_cast<uint32_t>(text.find(word));
    Error error;
    error.message = "wrong";
    error.span = {source, begin, begin + static_cast<uint32_t>(word.size())};
    const std::string rendered = render(error, sources);
    return rendered.substr(rendered.rfind("| ") + 2);
  };
  CHECK(shown("ab x", "x") == "   ^\n");
  CHECK(shown("漢字 x", "x") == "     ^\n");
  CHECK(shown("e\u0301 x", "x") == "  ^\n");
  CHECK(shown("a 漢字", "漢字") == "  ^^^^\n");
  CHECK(shown("a \u0301", "\u0301") == "  ^\n");
}

TEST_CASE("a line is cut to the columns of a terminal, whole characters and colours apart") {
  CHECK(cut_to_width("abcdef", 0) == "abcdef");
  CHECK(cut_to_width("abcdef", 6) == "abcdef");
  CHECK(cut_to_width("abcdef", 5) == "abcd…");
  CHECK(cut_to_width("äöüß", 4) == "äöüß");
  CHECK(cut_to_width("äöüß", 3) == "äö…");
  CHECK(cut_to_width("日本語", 5) == "日本…");
  CHECK(cut_to_width("日本語", 4) == "日…");
  CHECK(cut_to_width("\033[1mabc\033[0m", 3) == "\033[1mabc\033[0m");
  CHECK(cut_to_width("\033[1mabcd\033[0m", 3) == "\033[1mab\033[0m…");
}
