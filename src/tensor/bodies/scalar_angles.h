// The scalar bodies of the elementwise ops, part 4: trigonometric functions and their inverses. Follows
// scalar_functions.h, which says how accurate they are; see scalar_math.h for the rules of these files.
#pragma once

#include "tensor/bodies/scalar_functions.h"

namespace tsl::math {

// ---- Trigonometric functions ---------------------------------------------------------------------------------

/// An angle less its nearest multiple of pi/2, rest + low, |rest| <= pi/4; that multiple modulo 4 (the upper bits
/// vary).
struct Angle {
  float rest, low;
  Word quadrant;
};

/// Whether reduce_near_angle() holds; beyond, reduce_far_angle() must do.
TSL_FN bool is_near_angle(float x) { return magnitude(x) <= 0x1p16f; }
/// The first step of the reduction is exact; the last is left to the end. So is, if `closely`, what the second loses
/// (which would not be exact of small angles, where less matters).
TSL_FN Angle reduce_near_angle(float x, bool closely) {
  float shifted = fused(x, 0x1.45f306p-1f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  float first = fused(n, -0x1.921fb6p0f, x), rest = fused(n, 0x1.777a5cp-25f, first);
  float lost = select(closely & (magnitude(first) > 0x1p-4f), fused(n, 0x1.777a5cp-25f, first - rest), 0.0f);
  return {rest, fused(n, 0x1.ee59dap-50f, lost), bits_of(shifted)};
}

/// Payne and Hanek, for |x| >= 2^16: multiplies the mantissa with only those bits of 2/pi that matter modulo 4.
TSL_RARE_FN Angle reduce_far_angle(float x) {
  constexpr Word kTwoOverPi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
  Word bits = bits_of(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) return {not_a_number<float>(), 0, 0};
  // |x| = mantissa * 2^shift with shift >= -7; the product's bits at 2^2 and above do not matter.
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
  Word quadrant = static_cast<Word>((product + 0x2000000000000000ull) >> 62);
  long long fraction = static_cast<long long>(product << 2) >> 2;  // of a right angle, times 2^62
  float f = static_cast<float>(fraction), f_low = static_cast<float>(fraction - static_cast<long long>(f));
  float rest = f * 0x1.921fb6p-62f, lost = fused(f, 0x1.921fb6p-62f, -rest);
  float rest_low = fused(f_low, 0x1.921fb6p-62f, fused(f, -0x1.777a5cp-87f, lost));
  return sign_bit(x) ? Angle{-rest, -rest_low, 0 - quadrant} : Angle{rest, rest_low, quadrant};
}

/// Relative error of the polynomials 2^-27.9.
TSL_FN float sin_of(Angle angle) {
  float r = angle.rest, z = r * r;
  float p = fused(fused(-0x1.992c3ap-13f, z, 0x1.1106fcp-7f), z, -0x1.555544p-3f);
  float sine = r + fused(r * z, p, angle.low);
  float q = fused(fused(0x1.99e3a6p-16f, z, -0x1.6c0c24p-10f), z, 0x1.55554ap-5f);
  float cosine = fused(z, fused(z, q, -0.5f), 1.0f);
  float y = select((angle.quadrant & 1) != 0, cosine, sine);
  return as_float(bits_of(y) ^ (angle.quadrant & 2) << 30);
}
TSL_FN float cos_of(Angle angle) { return sin_of({angle.rest, angle.low, angle.quadrant + 1}); }

/// t = r + r^3 P(r^2), error 2^-29.4, or -1/t.
TSL_FN float tan_of(Angle angle) {
  float r = angle.rest, z = r * r;
  float p = 0x1.1e9104p-8f;
  p = fused(p, z, 0x1.9c30dap-14f);
  p = fused(p, z, 0x1.62cb24p-7f);
  p = fused(p, z, 0x1.5cc0d4p-6f);
  p = fused(p, z, 0x1.bad9c2p-5f);
  p = fused(p, z, 0x1.110d9ep-3f);
  p = fused(p, z, 0x1.555560p-2f);
  float above = fused(r * z, p, fused(angle.low, z, angle.low)), t = r + above, lost = above - (t - r),
        y = reciprocal(t);
  return select((angle.quadrant & 1) != 0, fused(fused(t, y, -1.0f) + lost * y, y, -y), t);
}

TSL_FN Angle reduce_angle(float x, bool closely) {
  return is_near_angle(x) ? reduce_near_angle(x, closely) : reduce_far_angle(x);
}
// Of angles where is_near_angle(), and of all.
TSL_FN float sin_near(float x) { return select(x == 0, x, sin_of(reduce_near_angle(x, false))); }
TSL_FN float cos_near(float x) { return cos_of(reduce_near_angle(x, false)); }
TSL_FN float tan_near(float x) { return select(x == 0, x, tan_of(reduce_near_angle(x, true))); }
TSL_FN float s_sin(float x) { return select(x == 0, x, sin_of(reduce_angle(x, false))); }
TSL_FN float s_cos(float x) { return cos_of(reduce_angle(x, false)); }
TSL_FN float s_tan(float x) { return select(x == 0, x, tan_of(reduce_angle(x, true))); }
TSL_SHORT_UNARY(s_sin)
TSL_SHORT_UNARY(s_cos)
TSL_SHORT_UNARY(s_tan)

/// pi/2, rounded, and the rest of it.
inline constexpr float kRightAngle = 0x1.921fb6p0f, kRightAngleLow = -0x1.777a5cp-25f;

/// turns * pi/2 + angle + rest, |angle| <= |turns * pi/2| unless `turns` is 0; of -2 to 2 turns.
TSL_FN float turned(float turns, float angle, float rest) {
  const float high = fused(turns, kRightAngle, angle), lost = angle - fused(-turns, kRightAngle, high);
  return high + (fused(turns, kRightAngleLow, rest) + lost);
}

/// turns * pi/2 + atan(t), or less atan(t) if `back`: atan(t) = t + t^3 P(t^2) for t in [0, 1], error 2^-28.2.
TSL_FN float turned_by_tangent(float turns, float t, bool back) {
  const float z = t * t;
  float p = -0x1.db64d4p-10f;
  p = fused(p, z, 0x1.67eaf6p-7f);
  p = fused(p, z, -0x1.002342p-5f);
  p = fused(p, z, 0x1.db2c6ap-5f);
  p = fused(p, z, -0x1.5837ccp-4f);
  p = fused(p, z, 0x1.c0939ep-4f);
  p = fused(p, z, -0x1.2420acp-3f);
  p = fused(p, z, 0x1.9991e4p-3f);
  p = fused(p, z, -0x1.55553ep-2f);
  const float angle = select(back, -t, t);
  return turned(turns, angle, angle * z * p);
}
TSL_FN float s_atan2(float y, float x) {
  const float a = magnitude(y), b = magnitude(x);
  const bool steep = a > b, behind = sign_bit(x);
  const float least = select(steep, b, a), most = select(steep, a, b);
  const float t = select((least == infinity<float>()) & (most == least), 1.0f, least / select(most == 0, 1.0f, most));
  const float turns = select(steep, 1.0f, select(behind, 2.0f, 0.0f));
  return copy_sign(turned_by_tangent(turns, t, steep != behind), y);
}
TSL_FN float s_atan(float x) {
  const float size = magnitude(x);
  const bool steep = size > 1;
  return copy_sign(
      turned_by_tangent(select(steep, 1.0f, 0.0f), select(steep, reciprocal(at_most(size, 0x1p60f)), size), steep), x);
}

/// asin(s) = s + s z P(z), z = s^2 <= 1/4; error 2^-31.7. The result is P(z).
TSL_FN float asin_slope(float z) {
  float p = 0x1.34c5a8p-5f;
  p = fused(p, z, 0x1.d522dep-7f);
  p = fused(p, z, 0x1.04d2e6p-5f);
  p = fused(p, z, 0x1.6ca754p-5f);
  p = fused(p, z, 0x1.3338acp-4f);
  return fused(p, z, 0x1.55554cp-3f);
}
/// What the arcsine and the arccosine have in common: asin(|x|) = turns * pi/2 + angle + rest, which beyond 1/2 is pi/2
/// - 2 asin(sqrt((1 - |x|) / 2)).
struct Arcsine {
  float turns, angle, rest;
};
TSL_FN Arcsine arcsine_of(float size) {
  const bool is_far = size > 0.5f;
  const float z = select(is_far, fused(size, -0.5f, 0.5f), size * size);
  const float angle = select(is_far, -2 * square_root(z), size);
  return {select(is_far, 1.0f, 0.0f), angle, angle * z * asin_slope(z)};
}
TSL_FN float s_asin(float x) {
  const Arcsine a = arcsine_of(magnitude(x));
  return copy_sign(turned(a.turns, a.angle, a.rest), x);
}
TSL_FN float s_acos(float x) {
  const Arcsine a = arcsine_of(magnitude(x));
  const float sign = copy_sign(1.0f, -x);
  return turned(fused(sign, a.turns, 1.0f), sign * a.angle, sign * a.rest);
}
TSL_FN double s_atan2(double y, double x) { return TSL_LIBM(atan2)(opaque(y), opaque(x)); }
TSL_FN double s_atan(double x) { return TSL_LIBM(atan)(opaque(x)); }
TSL_FN double s_asin(double x) { return TSL_LIBM(asin)(opaque(x)); }
TSL_FN double s_acos(double x) { return TSL_LIBM(acos)(opaque(x)); }
TSL_SHORT_BINARY(s_atan2)
TSL_SHORT_UNARY(s_atan)
TSL_SHORT_UNARY(s_asin)
TSL_SHORT_UNARY(s_acos)

}  // namespace tsl::math
