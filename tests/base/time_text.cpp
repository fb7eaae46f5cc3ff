// Tests times as text.
#include "base/time_text.h"

#include "catch.h"

using tsl::time_text;

TEST_CASE("times have three digits and a unit") {
  CHECK(time_text(12.34) == "12.3 s");
  CHECK(time_text(0.012345) == "12.3 ms");
  CHECK(time_text(4.5e-5) == "45.0 µs");
  CHECK(time_text(8e-8) == "80 ns");
}
