// Hashes of keys that a program chooses. They depend on a secret of the process, so that no text or file can hold
// thousands of keys whose hashes are equal.
#pragma once

#include <cstdint>
#include <string_view>

namespace tsl {

/// The secret of the process, which the system draws when it starts.
struct HashSecret {
  uint64_t offset, factor;
  static const HashSecret& of_process() {
    static const HashSecret secret = drawn();
    return secret;
  }

 private:
  static HashSecret drawn();
};

/// Mixes the bits of a number (the finalizer of SplitMix64).
inline uint64_t mixed_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline uint64_t seeded_hash(uint64_t number) { return mixed_bits(number ^ HashSecret::of_process().offset); }

/// Hashes a text by folded products of its words, as wyhash does.
uint64_t seeded_hash(std::string_view text);

}  // namespace tsl
