// Tests Arena, Interner and Ref.
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/intern.h"
#include "base/ref.h"
#include "catch.h"

using namespace tsl;

namespace {

struct Point {
  int x;
  double y;
};

struct alignas(32) Wide {
  char bytes[32];
};

struct Item : Counted {
  explicit Item(int& live) : live_(live) { ++live_; }
  Item(const Item& other) : Counted(other), live_(other.live_) { ++live_; }
  ~Item() { --live_; }
  int& live_;
};

struct Recycled : Counted {
  static void destroy(Recycled* item) { item->is_destroyed = true; }
  bool is_destroyed = false;
};

}  // namespace

TEST_CASE("an arena's objects stay where they are") {
  Arena arena;
  std::vector<Point*> points;
  for (int i = 0; i < 10'000; ++i) points.push_back(arena.make<Point>(i, i * 0.5));
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(points[static_cast<size_t>(i)]->x == i);
    REQUIRE(points[static_cast<size_t>(i)]->y == i * 0.5);
  }
}

TEST_CASE("an arena aligns, and takes objects larger than its blocks") {
  Arena arena;
  arena.make<char>('a');
  CHECK(reinterpret_cast<uintptr_t>(arena.make<Wide>()) % 32 == 0);
  CHECK(reinterpret_cast<uintptr_t>(arena.make<double>(1.0)) % alignof(double) == 0);
  const std::vector<int> large(100'000, 7);
  const std::span<int> copy = arena.copy(large);
  CHECK(copy.size() == large.size());
  CHECK(copy.front() == 7);
  CHECK(copy.back() == 7);
  CHECK(arena.copy(std::vector<int>()).empty());
  CHECK(arena.make<Point>(1, 2.0)->x == 1);
}

TEST_CASE("equal names are equal pointers") {
  Interner names;
  const Name a = names.intern("alpha");
  for (int i = 0; i < 1000; ++i) names.intern("name" + std::to_string(i));
  CHECK(names.intern(std::string("al") + "pha") == a);
  CHECK(names.intern("beta") != a);
  CHECK(*a == "alpha");
}

TEST_CASE("a Ref keeps its object alive, and not longer") {
  int live = 0;
  {
    Ref<Item> a = make_ref<Item>(live);
    CHECK(a.unique());
    Ref<Item> b = a;
    CHECK_FALSE(a.unique());
    CHECK(a == b);
    a = {};
    CHECK(live == 1);
    CHECK(b.unique());
    Ref<Item>& self = b;
    b = self;
    CHECK(live == 1);
    Ref<Item> c = std::move(b);
    CHECK_FALSE(b);
    CHECK(c->use_count() == 1);
  }
  CHECK(live == 0);
}

TEST_CASE("a count can be given up and taken over") {
  int live = 0;
  Ref<Item> a = make_ref<Item>(live);
  Item* raw = a.detach();
  CHECK(live == 1);
  CHECK_FALSE(a);
  { const Ref<Item> back = Ref<Item>::adopt(raw); }
  CHECK(live == 0);
}

TEST_CASE("a copied object starts with a count of its own") {
  int live = 0;
  Ref<Item> a = make_ref<Item>(live);
  Ref<Item> b = make_ref<Item>(*a);
  CHECK(a.unique());
  CHECK(b.unique());
  CHECK(live == 2);
}

TEST_CASE("a type may say how it is destroyed") {
  Recycled item;
  { const Ref<Recycled> ref(&item); }
  CHECK(item.is_destroyed);
}
