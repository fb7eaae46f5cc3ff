// Names: where they stay, when they are freed, and that their hashes take the secret of the process.
#include "base/intern.h"

#include <cstring>
#include <unordered_set>
#include <vector>

#include "catch.h"

using namespace tsl;

namespace {

// What libstdc++'s std::hash of texts does to each word of eight bytes (MurmurHash64A), with the seed that it always
// takes.
constexpr uint64_t kFactor = (uint64_t{0xc6a4a793} << 32) + 0x5bd1e995, kSeed = 0xc70f6907;

uint64_t mixed_word(uint64_t word) {
  word *= kFactor;
  return (word ^ (word >> 47)) * kFactor;
}

uint64_t inverse_of_factor() {
  uint64_t inverse = kFactor;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
  return inverse;
}

/// Returns the word of which mixed_word() makes `mixed`.
uint64_t unmixed_word(uint64_t mixed) {
  mixed *= inverse_of_factor();
  return (mixed ^ (mixed >> 47)) * inverse_of_factor();
}

/// Returns one of many texts of 16 bytes that have one hash.
std::string colliding_text(uint64_t number) {
  const uint64_t first = (kSeed ^ (16 * kFactor) ^ mixed_word(number)) * kFactor;
  const uint64_t words[] = {number, unmixed_word(first)};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

}  // namespace

TEST_CASE("names that are chosen to collide have hashes of their own") {
  constexpr uint64_t kCount = 1000;
  std::unordered_set<size_t> hashes;
  for (uint64_t i = 0; i < kCount; ++i) {
    const std::string text = colliding_text(i);
    REQUIRE(std::hash<std::string_view>()(text) == std::hash<std::string_view>()(colliding_text(0)));
    hashes.insert(seeded_hash(std::string_view(text)));
  }
  CHECK(hashes.size() == kCount);
}

TEST_CASE("names stay where they are while others are made and freed") {
  constexpr int kCount = 20000;
  Interner names;
  const Name first = names.intern("name 0");
  std::vector<HeldName> held;
  for (int i = 0; i < kCount; ++i) held.emplace_back(names, "name " + std::to_string(i));
  CHECK(names.size() == kCount);
  CHECK(held[0] == first);
  for (int i = 1; i < kCount; i += 2) held[static_cast<size_t>(i)] = HeldName();
  CHECK(names.size() == kCount / 2);
  for (int i = 0; i < kCount; ++i) {
    const std::string text = "name " + std::to_string(i);
    const Name expected = held[static_cast<size_t>(i)];
    REQUIRE(names.find(text) == expected);
    if (expected) REQUIRE(*expected == text);
  }
  held.clear();
  CHECK(names.size() == 1);
  CHECK(names.find("name 0") == first);  // which code holds
}

TEST_CASE("a name is freed with its last holder") {
  Interner names;
  HeldName one(names, "key");
  const HeldName same = one;
  one = HeldName();
  CHECK(names.find("key") == same);
  {
    const HeldName again(names, "key");
    CHECK(again == same);
  }
  CHECK(names.size() == 1);
}
