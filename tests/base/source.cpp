#include "base/source.h"

#include "catch.h"

using namespace tsl;

TEST_CASE("lines and columns of a source") {
  const Source source("a.tsl", "let x = 1\r\n\nβ + y");
  CHECK(source.line_of(0) == 1);
  CHECK(source.line_of(9) == 1);
  CHECK(source.line_of(10) == 1);
  CHECK(source.line_of(11) == 2);
  CHECK(source.line_of(12) == 3);
  CHECK(source.line(1) == "let x = 1");
  CHECK(source.line(2).empty());
  CHECK(source.line(3) == "β + y");
  CHECK(source.column_of(4) == 5);
  CHECK(source.column_of(15) == 3);  // β is two bytes and one column
  CHECK(source.line_start(3) == 12);
}

TEST_CASE("positions at and beyond the end of a source are harmless") {
  const Source source("a.tsl", "ab\n");
  CHECK(source.line_of(3) == 2);
  CHECK(source.column_of(3) == 1);
  CHECK(source.line(2).empty());
  CHECK(source.line_of(99) == 2);
  const Source empty("", "");
  CHECK(empty.line_of(0) == 1);
  CHECK(empty.column_of(5) == 1);
  CHECK(empty.line(1).empty());
}

TEST_CASE("spans join and know whether they are valid") {
  CHECK_FALSE(Span().valid());
  CHECK(Span{1, 2, 3}.valid());
  CHECK(join({1, 4, 6}, {1, 2, 5}) == Span{1, 2, 6});
  CHECK(join({1, 2, 9}, {1, 4, 5}) == Span{1, 2, 9});
}

TEST_CASE("a source map keeps what it was given") {
  SourceMap sources;
  CHECK(sources.get(0).name() == "<none>");
  const uint32_t a = sources.add("a.tsl", "1\n2");
  const Source* first = &sources.get(a);
  for (int i = 0; i < 100; ++i) sources.add("b.tsl", "x");
  CHECK(&sources.get(a) == first);
  CHECK(sources.location({a, 2, 3}) == "a.tsl:2");
  CHECK(sources.location({}) == "<none>:1");
}
