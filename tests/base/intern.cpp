// Names of records are hashed with the secret of the process.
#include "base/intern.h"

#include <cstring>
#include <unordered_set>

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
    hashes.insert(Interner::Hash()(text));
  }
  CHECK(hashes.size() == kCount);
}
