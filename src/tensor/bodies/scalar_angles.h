// The scalar bodies of the elementwise ops, part 3: trigonometric functions and their inverses. Follows
// scalar_functions.h, which says how accurate they are; see scalar_math.h for the rules of these files.
#pragma once

#include "tensor/bodies/scalar_functions.h"

namespace tsl::math {

inline constexpr double kPi = 0x1.921fb54442d18p+1;

// ---- Trigonometric functions ---------------------------------------------------------------------------------

/// An angle less its nearest multiple of pi/2: |rest| <= pi/4, and that multiple modulo 4.
struct Angle {
  double rest;
  DoubleWord quadrant;
};

/// Whether reduce_angle() holds; beyond, reduce_large_angle() must do.
TSL_FN bool is_small_angle(float x) { return magnitude(x) <= 0x1p20f; }
TSL_FN Angle reduce_angle(float x) {
  double wide = x, shifted = fused(wide, 0x1.45f306dc9c883p-1, 0x1.8p52);
  double n = shifted - 0x1.8p52;
  double rest = fused(n, -0x1.921fb544p0, wide);  // exact: pi/2 in 33 bits and the rest of it
  return {fused(n, -0x1.0b4611a626331p-34, rest), bits_of(shifted) & 3};
}

/// Payne and Hanek: multiplies the mantissa with only those bits of 2/pi that matter modulo 4.
TSL_RARE_FN Angle reduce_large_angle(float x) {
  constexpr Word kTwoOverPi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
  Word bits = bits_of(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) return {not_a_number<double>(), 0};
  // |x| = mantissa * 2^shift with shift >= -4; the product's bits at 2^2 and above do not matter.
  int shift = static_cast<int>(bits >> 23) - 150;
  DoubleWord mantissa = (bits & 0x007fffffu) | 0x00800000u;
  int skip = shift + 30, word = skip >> 5, bit = skip & 31;
  DoubleWord high = static_cast<DoubleWord>(kTwoOverPi[word]) << 32 | kTwoOverPi[word + 1];
  DoubleWord low = static_cast<DoubleWord>(kTwoOverPi[word + 2]) << 32 | kTwoOverPi[word + 3];
  if (bit != 0) {
    high = high << bit | low >> (64 - bit);
    low <<= bit;
  }
  // 128 bits of 2/pi * 2^shift from 2^2·2^-32 on, times the mantissa: a fixed-point number with 2 bits before the
  // point.
  DoubleWord product = mantissa * high + (mantissa * (low >> 32) >> 32);
  DoubleWord nearest = product + 0x2000000000000000ull;
  long long fraction = static_cast<long long>(product << 2);
  double rest = static_cast<double>(fraction) * (kPi / 2 * 0x1p-64);
  DoubleWord quadrant = nearest >> 62;
  bool negative = sign_bit(x);
  return {select(negative, -rest, rest), select(negative, (4 - quadrant) & 3, quadrant & 3)};
}

/// |x| <= pi/4; errors 2^-47 and 2^-43.
TSL_FN double sin_core(double x) {
  double z = x * x;
  double p = -0x1.a965d1db164b1p-26;
  p = fused(p, z, 0x1.71d77a1a1be75p-19);
  p = fused(p, z, -0x1.a019f955483f8p-13);
  p = fused(p, z, 0x1.1111110c9ebc4p-7);
  p = fused(p, z, -0x1.55555555523c5p-3);
  return fused(x * z, p, x);
}
TSL_FN double cos_core(double x) {
  double z = x * x;
  double p = -0x1.23d712fe247cdp-22;
  p = fused(p, z, 0x1.a00f0c79bf82cp-16);
  p = fused(p, z, -0x1.6c16b3f702042p-10);
  p = fused(p, z, 0x1.55555546e6f6dp-5);
  p = fused(p, z, -0x1.ffffffffebe51p-2);
  return fused(z, p, 1.0);
}
TSL_FN float sin_of(Angle angle) {
  double y = select((angle.quadrant & 1) != 0, cos_core(angle.rest), sin_core(angle.rest));
  return static_cast<float>(select((angle.quadrant & 2) != 0, -y, y));
}
TSL_FN float tan_of(Angle angle) {
  double sine = sin_core(angle.rest), cosine = cos_core(angle.rest);
  bool swap = (angle.quadrant & 1) != 0;
  return static_cast<float>(select(swap, -cosine, sine) / select(swap, sine, cosine));
}
/// The sine of `quarters` right angles and x, for x where is_near_angle(); relative error of the polynomials 2^-27.9.
/// The first step of the reduction is exact; the last is left to the end.
TSL_FN bool is_near_angle(float x) { return magnitude(x) <= 0x1p16f; }
TSL_FN float sin_near(float x, Word quarters) {
  float shifted = fused(x, 0x1.45f306p-1f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  float r = fused(n, 0x1.777a5cp-25f, fused(n, -0x1.921fb6p0f, x)), low = n * 0x1.ee59dap-50f;
  float z = r * r;
  float p = fused(fused(-0x1.992c3ap-13f, z, 0x1.1106fcp-7f), z, -0x1.555544p-3f);
  float sine = r + fused(r * z, p, low);
  float q = fused(fused(0x1.99e3a6p-16f, z, -0x1.6c0c24p-10f), z, 0x1.55554ap-5f);
  float cosine = fused(z, fused(z, q, -0.5f), 1.0f);
  Word quadrant = bits_of(shifted) + quarters;
  float y = select((quadrant & 1) != 0, cosine, sine);
  return as_float(bits_of(y) ^ (quadrant & 2) << 30);
}
TSL_RARE_FN float sin_far(float x, Word quarters) {
  Angle angle = is_small_angle(x) ? reduce_angle(x) : reduce_large_angle(x);
  return sin_of({angle.rest, angle.quadrant + quarters});
}
TSL_FN float s_sin(float x) { return is_near_angle(x) ? select(x == 0, x, sin_near(x, 0)) : sin_far(x, 0); }
TSL_FN float s_cos(float x) { return is_near_angle(x) ? sin_near(x, 1) : sin_far(x, 1); }
TSL_FN Angle reduce_any_angle(float x) { return is_small_angle(x) ? reduce_angle(x) : reduce_large_angle(x); }
TSL_FN float s_tan(float x) { return select(x == 0, x, tan_of(reduce_any_angle(x))); }
TSL_FN double s_sin(double x) { return TSL_LIBM(sin)(opaque(x)); }
TSL_FN double s_cos(double x) { return TSL_LIBM(cos)(opaque(x)); }
TSL_FN double s_tan(double x) { return TSL_LIBM(tan)(opaque(x)); }
TSL_SHORT_UNARY(s_sin)
TSL_SHORT_UNARY(s_cos)
TSL_SHORT_UNARY(s_tan)

/// The angle of the point (x, y): turned by 0, pi/4 or pi/2 first, so that the tangent is at most tan(pi/8), where
/// atan(t) = t + t^3 P(t^2); error 2^-40.2.
TSL_FN double atan2_core(double y, double x) {
  double a = magnitude(y), b = magnitude(x);
  bool a_infinite = a == infinity<double>(), b_infinite = b == infinity<double>();
  bool both_infinite = a_infinite & b_infinite;
  a = select(both_infinite, 1.0, a);
  b = select(both_infinite | ((a == 0) & (b == 0)), 1.0, b);
  bool steep = a > b * 2.414213562373095, middle = a > b * 0.4142135623730951;
  double top = select(steep, -b, select(middle, a - b, a));
  double bottom = select(steep, a, select(middle, a + b, b));
  double turn = select(steep, kPi / 2, select(middle, kPi / 4, 0.0));
  double t = top / bottom, z = t * t;
  double p = -0x1.36a227c104ad7p-5;
  p = fused(p, z, 0x1.1e5ac9e1b4abbp-4);
  p = fused(p, z, -0x1.7082c9db85735p-4);
  p = fused(p, z, 0x1.c6d1f9fc713a2p-4);
  p = fused(p, z, -0x1.2490c3cab2ce9p-3);
  p = fused(p, z, 0x1.99999203c6bcep-3);
  p = fused(p, z, -0x1.5555554eeab69p-2);
  double angle = turn + fused(t * z, p, t);
  angle = select(sign_bit(x), kPi - angle, angle);
  return copy_sign(angle, y);
}
TSL_FN double cofactor(float x) {  // sqrt(1 - x^2)
  double wide = x;
  return s_sqrt((1 - wide) * (1 + wide));
}
TSL_FN float s_atan2(float y, float x) { return static_cast<float>(atan2_core(y, x)); }
TSL_FN float s_atan(float x) { return static_cast<float>(atan2_core(x, 1.0)); }
TSL_FN float s_asin(float x) { return static_cast<float>(atan2_core(x, cofactor(x))); }
TSL_FN float s_acos(float x) { return static_cast<float>(atan2_core(cofactor(x), x)); }
TSL_FN double s_atan2(double y, double x) { return TSL_LIBM(atan2)(opaque(y), opaque(x)); }
TSL_FN double s_atan(double x) { return TSL_LIBM(atan)(opaque(x)); }
TSL_FN double s_asin(double x) { return TSL_LIBM(asin)(opaque(x)); }
TSL_FN double s_acos(double x) { return TSL_LIBM(acos)(opaque(x)); }
TSL_SHORT_BINARY(s_atan2)
TSL_SHORT_UNARY(s_atan)
TSL_SHORT_UNARY(s_asin)
TSL_SHORT_UNARY(s_acos)

}  // namespace tsl::math
