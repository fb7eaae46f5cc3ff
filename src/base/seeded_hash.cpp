#include "base/seeded_hash.h"

#include <array>
#include <cstring>

#include "base/platform/process.h"

namespace tsl {

HashSecret HashSecret::drawn() {
  const std::array<uint64_t, 2> drawn = platform::random_of_process();
  // The C library takes its own secrets from the same bytes: hashes must not show them.
  const uint64_t offset = mixed_bits(mixed_bits(drawn[0] ^ 0x9e3779b97f4a7c15ull) + drawn[1]);
  return {offset, mixed_bits(offset + drawn[0]) | 1};
}

uint64_t seeded_hash(std::string_view text) {
  const HashSecret& secret = HashSecret::of_process();
  const auto folded = [&](uint64_t word) {
    const unsigned __int128 product = static_cast<unsigned __int128>(word) * secret.factor;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = secret.offset ^ text.size();
  for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    hash = folded(hash ^ word);
  }
  uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  return mixed_bits(folded(hash ^ rest) ^ secret.offset);
}

}  // namespace tsl
