// Tests the numbers and paths of ranges.
#include "base/range_table.h"
#include "catch.h"

using namespace tsl;

TEST_CASE("a range within another one has a path, and calls of one name are numbered if there are several") {
  RangeTable ranges;
  const uint32_t step = ranges.add(0, "step"), block = ranges.add(step, "block");
  const uint32_t attention = ranges.add(block, "attention", 0, true);
  CHECK(ranges.path(0) == "");
  CHECK(ranges.path(attention) == "step.block.attention");
  CHECK(ranges.add(step, "block", 1) != block);
  CHECK(ranges.path(attention) == "step.block[0].attention");
  CHECK(ranges.path(ranges.add(step, "block", 1)) == "step.block[1]");
  CHECK(ranges.add(step, "block") == block);
  CHECK(ranges.outer(attention) == block);
  CHECK(ranges.is_named(attention));
  CHECK(ranges.is_named(ranges.add(attention, "softmax")));
  CHECK_FALSE(ranges.is_named(block));
}

TEST_CASE("ranges without end share one") {
  RangeTable ranges;
  uint32_t deep = 0;
  for (int i = 0; i < 1000; ++i) deep = ranges.add(deep, "f");
  CHECK(ranges.path(deep).size() == 2 * RangeTable::kMostDepth - 1);
  CHECK(ranges.path(ranges.add(0, "g", 5000)) == "g[100…]");
  CHECK(ranges.add(0, "g", 6000) == ranges.add(0, "g", 5000));
  for (size_t i = 0; i < 2 * RangeTable::kMost; ++i) ranges.add(0, std::to_string(i));
  CHECK(ranges.add(deep, "one more") == deep);
}
