// Tests the plain data that reports are rendered from.
#include "catch.h"
#include "report/recording.h"

using namespace tsl::report;

TEST_CASE("a location without a line is unknown", "[report]") {
  CHECK(to_string(Location{}) == "?");
  CHECK(to_string(Location{"train.tsl", 12, ""}) == "train.tsl:12");
}
