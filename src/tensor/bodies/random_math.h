// Counter-based random numbers: Philox 4x32-10 (Salmon et al., SC'11; the same words as Random123), and how words
// become uniform and normal numbers. Follows scalar_functions.h; see scalar_math.h for the rules of these files.
//
// A stream is a key and a first block. Block b (counter + b, modulo 2^64) is four words; word w of a stream is word
// w % 4 of block w / 4. Element i of a stream takes
//   - bits, and floats of up to 32 bits: word i;
//   - f64: words 2i and 2i + 1.
// Normal numbers come in pairs: elements 2j and 2j + 1 share what uniform numbers 2j and 2j + 1 would take.
#pragma once

#include "tensor/bodies/scalar_functions.h"

namespace tsl::math {

struct PhiloxBlock {
  Word words[4];
};

TSL_FN PhiloxBlock philox(DoubleWord counter_low, DoubleWord counter_high, DoubleWord key) {
  Word c0 = static_cast<Word>(counter_low), c1 = static_cast<Word>(counter_low >> 32);
  Word c2 = static_cast<Word>(counter_high), c3 = static_cast<Word>(counter_high >> 32);
  Word k0 = static_cast<Word>(key), k1 = static_cast<Word>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    DoubleWord p0 = static_cast<DoubleWord>(0xd2511f53u) * c0, p1 = static_cast<DoubleWord>(0xcd9e8d57u) * c2;
    Word n0 = static_cast<Word>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<Word>(p0 >> 32) ^ c3 ^ k1;
    c0 = n0;
    c1 = static_cast<Word>(p1);
    c2 = n2;
    c3 = static_cast<Word>(p0);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}
/// The block of a stream; the counter's upper half is zero.
TSL_FN PhiloxBlock philox(DoubleWord counter, DoubleWord key) { return philox(counter, 0, key); }

// ---- Uniform in [0, 1): as many leading bits of the word as the format holds exactly -------------------------

TSL_FN float uniform_float(Word w) { return static_cast<float>(static_cast<int>(w >> 8)) * 0x1p-24f; }
TSL_FN float uniform_half(Word w) { return static_cast<float>(static_cast<int>(w >> 21)) * 0x1p-11f; }
TSL_FN float uniform_bfloat16(Word w) { return static_cast<float>(static_cast<int>(w >> 24)) * 0x1p-8f; }
TSL_FN double uniform_double(Word high, Word low) {
  return (static_cast<int>(high >> 5) * 0x1p26 + static_cast<int>(low >> 6)) * 0x1p-53;
}

// ---- Normal, by Box and Muller: r cos(2 pi u), r sin(2 pi u) -------------------------------------------------

struct NormalPair {
  float first, second;
};
struct NormalPairDouble {
  double first, second;
};

/// The radius takes 31 bits, so tails reach 6.6.
TSL_FN NormalPair normal_float(Word w0, Word w1) {
  float u = (static_cast<float>(static_cast<int>(w0 >> 1)) + 0.5f) * 0x1p-31f;  // in (0, 1]
  float radius = s_sqrt(-2 * s_log(u));
  // The angle is quadrant + f quarters of a turn, f in [-1/2, 1/2], exactly.
  float quarters = static_cast<float>(static_cast<int>(w1 >> 8)) * 0x1p-22f;
  float nearest = s_round(quarters), f = quarters - nearest, z = f * f;
  int quadrant = static_cast<int>(nearest);
  float s = -0x1.2d9bb0p-8f;  // sin(pi/2 f) / f, error 2^-27.6
  s = s * z + 0x1.465ec6p-4f;
  s = s * z - 0x1.4abbbap-1f;
  s = (s * z + 0x1.921fb6p0f) * f;
  float c = 0x1.d9f7b2p-11f;  // cos(pi/2 f), error 2^-34
  c = c * z - 0x1.55c664p-6f;
  c = c * z + 0x1.03c1dep-2f;
  c = c * z - 0x1.3bd3ccp0f;
  c = c * z + 1;
  bool swap = (quadrant & 1) != 0;
  float sine = select(swap, c, s), cosine = select(swap, -s, c);
  bool opposite = (quadrant & 2) != 0;
  return {radius * select(opposite, -cosine, cosine), radius * select(opposite, -sine, sine)};
}
/// The sine and the cosine of a right angle times f, |f| <= 1/2, each within 1 ulp.
TSL_FN NormalPairDouble sine_and_cosine(double f) {
  double z = f * f;
  double s = -0x1.6cc577dadd922p-31;  // (sin(pi/2 f) - pi/2 f) / f^3, error 2^-66.9
  s = fused(s, z, 0x1.e8f036bcd3237p-25);
  s = fused(s, z, -0x1.e3074d2614b2dp-19);
  s = fused(s, z, 0x1.50783486facaap-13);
  s = fused(s, z, -0x1.32d2cce62b872p-8);
  s = fused(s, z, 0x1.466bc6775aae1p-4);
  s = fused(s, z, -0x1.4abbce625be53p-1);
  double c = -0x1.b2f3eb054afcdp-28;  // (cos(pi/2 f) - 1) / f^2, error 2^-62.8
  c = fused(c, z, 0x1.f9ce245cada0bp-22);
  c = fused(c, z, -0x1.a6d1eef479be1p-16);
  c = fused(c, z, 0x1.e1f5068688d5bp-11);
  c = fused(c, z, -0x1.55d3c7e3cb241p-6);
  c = fused(c, z, 0x1.03c1f081b5ac0p-2);
  c = fused(c, z, -0x1.3bd3cc9be45dep0);
  return {fused(f, 0x1.921fb54442d18p0, f * fused(z, s, 0x1.1a62633145c07p-54)), fused(z, c, 1.0)};
}

/// Every device computes these by the same arithmetic, so they are the same numbers everywhere.
TSL_FN NormalPairDouble normal_double(const PhiloxBlock& b) {
  double radius = s_sqrt(-2 * log_of_parts(log_parts(1 - uniform_double(b.words[0], b.words[1]))));
  double quarters = 4 * uniform_double(b.words[2], b.words[3]);
  double nearest = s_round(quarters);
  NormalPairDouble unit = sine_and_cosine(quarters - nearest);
  int quadrant = static_cast<int>(nearest);
  bool swap = (quadrant & 1) != 0, opposite = (quadrant & 2) != 0;
  double sine = select(swap, unit.second, unit.first), cosine = select(swap, -unit.first, unit.second);
  return {radius * select(opposite, -cosine, cosine), radius * select(opposite, -sine, sine)};
}

}  // namespace tsl::math
