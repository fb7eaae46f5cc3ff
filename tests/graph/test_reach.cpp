// Tests how many elements of a buffer several accesses reach.
#include "catch.h"
#include "graph/reach.h"

using namespace tsl;
using graph::DistinctElements;

namespace {

struct Read {
  int64_t offset;
  std::vector<DistinctElements::Loop> loops;
};

uint64_t count_of(const std::vector<Read>& reads) {
  DistinctElements elements;
  for (const Read& read : reads) elements.add(read.offset, read.loops);
  return elements.count();
}

}  // namespace

TEST_CASE("an element that is read twice counts once", "[reach]") {
  CHECK(count_of({}) == 0);
  CHECK(count_of({{0, {{10, 1}}}, {0, {{10, 1}}}}) == 10);
  CHECK(count_of({{0, {{0, 1}}}}) == 0);
  CHECK(count_of({{5, {{7, 0}}}}) == 1);
  CHECK(count_of({{9, {{10, -1}}}, {0, {{10, 1}}}}) == 10);
}

TEST_CASE("the columns of a matrix, read one by one, are the matrix", "[reach]") {
  CHECK(count_of({{0, {{4000, 3}}}, {2, {{4000, 3}}}, {1, {{4000, 3}}}}) == 12000);
  CHECK(count_of({{0, {{4000, 3}}}, {2, {{4000, 3}}}}) == 8000);
  CHECK(count_of({{0, {{4000, 3}, {2, 1}}}, {1, {{4000, 3}, {2, 1}}}}) == 12000);
}

TEST_CASE("neighbours that a stencil reads overlap", "[reach]") {
  CHECK(count_of({{0, {{98, 1}}}, {1, {{98, 1}}}, {2, {{98, 1}}}}) == 100);
  // The inner 8 x 8 of 10 x 10 and its left and upper neighbours: 8 x 9 and 9 x 8 that share 8 x 8.
  CHECK(count_of({{11, {{8, 10}, {8, 1}}}, {10, {{8, 10}, {8, 1}}}, {1, {{8, 10}, {8, 1}}}}) == 80);
}

TEST_CASE("windows of one layout that overlap count once", "[reach]") {
  DistinctElements windows;
  windows.add(0, {{98, 1}, {3, 1}});
  CHECK(windows.count() == 100);
  DistinctElements images;  // 3 x 3 windows of 10 x 10
  images.add(0, {{8, 10}, {8, 1}, {3, 10}, {3, 1}});
  CHECK(images.count() == 100);
}

TEST_CASE("accesses that fit no grid count no less than they reach", "[reach]") {
  const uint64_t count = count_of({{0, {{10, 3}}}, {0, {{10, 2}}}});
  CHECK(count >= 16);
  CHECK(count <= 20);
}

TEST_CASE("accesses that divide a grid into very many cells are added up, in no time", "[reach]") {
  DistinctElements elements;
  uint64_t sum = 0;
  for (int64_t i = 0; i < 60; ++i) {
    std::vector<DistinctElements::Loop> loops;
    int64_t offset = 0, stride = 1;
    for (int axis = 0; axis < 8; ++axis, stride *= 200) {
      loops.push_back({2 + i, stride});
      offset += i * stride;
    }
    uint64_t own = 1;
    for (const auto& loop : loops) own *= static_cast<uint64_t>(loop.extent);
    sum += own;
    elements.add(offset, loops);
  }
  CHECK(elements.count() == sum);
}
