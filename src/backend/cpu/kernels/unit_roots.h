// Roots of 1, rounded from 63 bits or more. The C library's functions of long double would give other bits on machines
// that have another long double: 64 bits on x86-64, 113 on aarch64, 53 elsewhere.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/count_work.h"

namespace tsl::cpu {

/// A number as a sum: `low` is what `high` lacks.
struct TwoDoubles {
  double high, low;
};

/// Adds a number that is not greater than the first one.
inline TwoDoubles plus(TwoDoubles a, TwoDoubles b) {
  const double high = a.high + b.high, low = b.high - (high - a.high) + (a.low + b.low), sum = high + low;
  return {sum, low - (sum - high)};
}

inline TwoDoubles times(TwoDoubles a, TwoDoubles b) {
  const double high = a.high * b.high;
  return plus({high, 0}, {std::fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high), 0});
}

inline TwoDoubles over(TwoDoubles a, double divisor) {
  const double high = a.high / divisor;
  return plus({high, 0}, {(std::fma(-high, divisor, a.high) + a.low) / divisor, 0});
}

/// The factors of z, z * z, ... in a sum that begins with 1. The terms of the others are below 2^-11, so f64 does.
struct PowerSeries {
  TwoDoubles first, second;
  std::array<double, 9> others;

  TwoDoubles at(TwoDoubles z) const {
    double rest = 0;
    for (size_t i = others.size(); i-- > 0;) rest = others[i] + z.high * rest;
    return plus({1, 0}, times(z, plus(first, times(z, plus(second, {z.high * rest, 0})))));
  }
};

// cos(x) and sin(x) / x by z = x * x: the inverses of factorials, to x^22.
inline constexpr PowerSeries kCosineSeries = {
    {-0.5, 0},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {-1 / 720., 1 / 40320., -1 / 3628800., 1 / 479001600., -1 / 87178291200., 1 / 20922789888000.,
     -1 / 6402373705728000., 1 / 2432902008176640000., -1 / 1124000727777607680000.}};
inline constexpr PowerSeries kSineSeries = {
    {-0x1.5555555555555p-3, -0x1.5555555555555p-57},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {-1 / 5040., 1 / 362880., -1 / 39916800., 1 / 6227020800., -1 / 1307674368000., 1 / 355687428096000.,
     -1 / 121645100408832000., 1 / 51090942171709440000., -1 / 25852016738884976640000.}};

/// Writes e^(-2πi k / n), from an angle of at most π / 4.
template <class T> void write_root(T* out, uint64_t k, uint64_t n) {
  constexpr int64_t kWork = 150;  // nanoseconds
  constexpr TwoDoubles kPi = {0x1.921fb54442d18p1, 0x1.1a62633145c07p-53};
  count_work(kWork);
  k %= n;
  const uint64_t eighth = 8 * k / n;
  // The angle's distance from the nearest multiple of π / 2, in units of 2π / 4n.
  const uint64_t quarter = (eighth + 1) / 2;
  const auto rest = static_cast<double>(static_cast<int64_t>(4 * k) - static_cast<int64_t>(quarter * n));
  const TwoDoubles angle = over(times(kPi, {rest, 0}), 2 * static_cast<double>(n)), square = times(angle, angle);
  const double cosine = kCosineSeries.at(square).high, sine = times(angle, kSineSeries.at(square)).high;
  const double table[4][2] = {{cosine, -sine}, {-sine, -cosine}, {-cosine, sine}, {sine, cosine}};
  out[0] = static_cast<T>(table[quarter % 4][0]);
  out[1] = static_cast<T>(table[quarter % 4][1]);
}

}  // namespace tsl::cpu
