// Tests the writers of drawings: SVG, characters, and pixels by cairo.
#include <cmath>

#include "backend/cpu/memory.h"
#include "base/error.h"
#include "catch.h"
#include "drawing/braille.h"
#include "drawing/cairo.h"
#include "drawing/raster.h"
#include "drawing/svg.h"

using namespace tsl;

namespace {

Shape2d line(std::vector<double> points) {
  Shape2d shape;
  shape.points = std::move(points);
  shape.ink = {{}, 0x1b7fc4};
  return shape;
}

Shape2d text(std::string words, double x, double y) {
  Shape2d shape;
  shape.kind = Shape2d::Kind::text;
  shape.points = {x, y};
  shape.text = std::move(words);
  shape.ink = {"ink", 0x24292f};
  return shape;
}

size_t count_of(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a line is interrupted where a point is not finite") {
  const Drawing drawing{80, 32, {line({0, 0, 8, 8, NAN, NAN, 16, 16, 24.125, INFINITY, 32, 8, 40, 8})}};
  const std::string svg = svg_text(drawing);
  CHECK(svg.find("d=\"M0,0L8,8M16,16M32,8L40,8\"") != std::string::npos);
}

TEST_CASE("texts of SVG are escaped") {
  const std::string svg = svg_text({80, 32, {text("a < b & \"c\"\x01", 0, 0)}});
  CHECK(svg.find("a &lt; b &amp; \"c\" </text>") != std::string::npos);
}

TEST_CASE("SVG has the colours of light and dark pages") {
  const std::string svg = svg_text({80, 32, {text("a", 0, 0)}});
  CHECK(count_of(svg, ".ink{color:#24292f}") == 1);
  CHECK(svg.find("prefers-color-scheme:dark") != std::string::npos);
  CHECK(svg.find("class=\"ink\" fill=\"currentColor\"") != std::string::npos);
}

TEST_CASE("a line of braille has a dot for each step") {
  // 16 by 16 pixels in 2 columns: two cells of 2 by 4 dots.
  CHECK(braille_text({16, 16, {line({0, 15, 16, 0})}}, 2, false) == "⡠⠊");
  CHECK(braille_text({16, 16, {line({-1e5, 8, 1e5, 8})}}, 2, false) == "⠤⠤");
  CHECK(braille_text({16, 16, {line({0, 40, 16, 40})}}, 2, false).empty());
}

TEST_CASE("a text is left out if it would cover another") {
  const Drawing drawing{80, 32, {text("first", 0, 8), text("next", 32, 8), text("below", 32, 24)}};
  CHECK(braille_text(drawing, 10, false) == "first\n    below");
}

TEST_CASE("wide characters take two columns, and those that combine none") {
  Shape2d shape = text("漢字", 80, 8);
  shape.anchor = Shape2d::Anchor::end;
  CHECK(braille_text({80, 16, {shape}}, 10, false) == "      漢字");
  CHECK(braille_text({80, 16, {text("e\u0301a\x1b[31m", 0, 8)}}, 10, false) == "e\u0301a [31m");
}

TEST_CASE("a turned text is written downwards") {
  Shape2d shape = text("ab", 4, 16);
  shape.is_turned = true;
  shape.anchor = Shape2d::Anchor::middle;
  CHECK(braille_text({80, 32, {shape}}, 10, false) == "a\nb");
}

TEST_CASE("colours are those of the last shape in a cell") {
  const std::string shown = braille_text({16, 16, {line({0, 8, 16, 8})}}, 2, true);
  CHECK(count_of(shown, "\x1b[38;2;27;127;196m") == 2);
}

TEST_CASE("a library that is not installed is named, with its package") {
  try {
    open_cairo("libnot-there.so.2");
    FAIL("it was found");
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::io);
    CHECK(failure.error().message ==
          "a picture cannot become a .png file: the library cairo, which draws it, was not found (libnot-there.so.2)");
    CHECK(failure.error().hints.at(0) == "on Debian and Ubuntu, `apt-get install libcairo2` installs it");
  }
  CHECK_THROWS_AS(open_cairo("libm.so.6"), Failure);
}

TEST_CASE("pixels have the colours of the shapes") {
  Shape2d box;
  box.kind = Shape2d::Kind::boxes;
  box.ink = {{}, 0xff8000};
  box.points = {1, 1, 2, 2, NAN, 0, 1, 1, 1e300, 0, 1, 1};
  cpu::CachingAllocator allocator;
  const Tensor pixels = draw_pixels({4, 4, {box, line({0, 1e300, 4, -1e300})}}, 1, allocator);
  const auto* const data = reinterpret_cast<const unsigned char*>(pixels.data());
  const auto pixel = [&](int row, int column) {
    const unsigned char* at = data + (row * 4 + column) * 3;
    return std::vector<int>(at, at + 3);
  };
  CHECK(pixel(0, 0) == std::vector<int>{255, 255, 255});
  CHECK(pixel(1, 2) == std::vector<int>{255, 128, 0});
}
