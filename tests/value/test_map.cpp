// Tests the hashes of maps' keys.
#include <bit>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "base/seeded_hash.h"
#include "catch.h"
#include "value/map.h"

using namespace tsl;

namespace {

/// Returns the inverse of an odd number modulo 2^64.
uint64_t inverse(uint64_t odd) {
  uint64_t result = odd;
  for (int i = 0; i < 6; ++i) result *= 2 - odd * result;
  return result;
}

uint64_t unshifted(uint64_t x, int bits) {
  uint64_t result = x;
  for (int done = bits; done < 64; done += bits) result = x ^ result >> bits;
  return result;
}

/// Returns the number of which mixed_bits() makes `hash`.
uint64_t unmixed(uint64_t hash) {
  const uint64_t second = unshifted(hash, 31) * inverse(0x94d049bb133111ebull);
  return unshifted(unshifted(second, 27) * inverse(0xbf58476d1ce4e5b9ull), 30);
}

}  // namespace

TEST_CASE("ints that are chosen to collide have hashes of their own") {
  constexpr uint64_t kCount = 10'000;
  std::unordered_set<uint32_t> hashes, slots;
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t number = unmixed(i << 32);
    REQUIRE(static_cast<uint32_t>(mixed_bits(number)) == 0);
    const uint32_t hash = MapKeys::hash_of(Value(std::bit_cast<int64_t>(number)));
    hashes.insert(hash);
    slots.insert(hash & 0xFFFF);
  }
  CHECK(hashes.size() > kCount - 10);
  CHECK(slots.size() > 8 * kCount / 10);  // of 65,536: at random about 9,270
}

TEST_CASE("texts have hashes that depend on the process, on their bytes and on their length") {
  std::unordered_set<uint32_t> hashes;
  size_t unseeded = 0;
  std::string text;
  for (int i = 0; i < 100; ++i, text += i % 3 == 0 ? '\0' : 'a') {
    const uint32_t hash = MapKeys::hash_of(make_string(text));
    hashes.insert(hash);
    unseeded += hash == static_cast<uint32_t>(std::hash<std::string>()(text));
    CHECK(MapKeys::hash_of(make_string(text)) == hash);
  }
  CHECK(hashes.size() == 100);
  CHECK(unseeded < 3);
}

TEST_CASE("keys that are equal have one hash") {
  CHECK(MapKeys::hash_of(Value(2.0)) == MapKeys::hash_of(Value(int64_t{2})));
  CHECK(MapKeys::hash_of(Value(true)) == MapKeys::hash_of(Value(int64_t{1})));
  CHECK(MapKeys::hash_of(make_tuple({Value(int64_t{1}), make_string("a")})) ==
        MapKeys::hash_of(make_tuple({Value(1.0), make_string("a")})));
}
