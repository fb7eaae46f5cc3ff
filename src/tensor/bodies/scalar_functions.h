// The scalar bodies of the elementwise ops, part 3: functions that are approximated. Follows scalar_double.h, which
// has most of those of f64 (see scalar_math.h for the rules of these files).
//
// f32: own polynomials, within 2 ulp everywhere, subnormal results included; infinities, NaN and signed zeros as
// in C99. (TSL_NATIVE: exp within 2 ulp, sigmoid and tanh within 4, silu and gelu within 5, but for results near the
// least normal number.) They compute in float, in pairs of floats where one is too short, since double takes at least
// twice the time. f64: the platform's libm, within 4 ulp (silu and the gelus: but for results near the least normal
// number, where their exponential is subnormal already). The coefficients are minimax (Remez) fits; the interval and
// the error stand at each.
//
// Processors take a slow path for results below the normal range. Arguments whose result is certain to vanish (an
// exp(-inf) of a mask, say) are therefore replaced before computing, not left to underflow.
#pragma once

#include "tensor/bodies/scalar_double.h"

namespace tsl::math {

// ---- Exponentials --------------------------------------------------------------------------------------------

/// e^t = (1 + m) * 2^n, |t| <= 112: fused steps, each of which halves what is left to do; errors 2^-25 in r, 2^-28 in
/// q.
struct ExpPartsF {
  float r, q;  // m = r + r^2 q
  int n;
};
/// t = n log(2) + r, where 1.5 * 2^23 + n is `shifted`.
TSL_FN ExpPartsF exp_parts_f(float shifted, float r) {
  float q = 0x1.6a2352p-10f;
  q = fused(q, r, 0x1.123a6cp-7f);
  q = fused(q, r, 0x1.5558f4p-5f);
  q = fused(q, r, 0x1.555490p-3f);
  q = fused(q, r, 0x1.fffffcp-2f);
  return {r, q, static_cast<int>(bits_of(shifted)) - 0x4b400000};
}
TSL_FN ExpPartsF exp_parts_f(float t) {
  float shifted = fused(t, 0x1.715476p0f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  return exp_parts_f(shifted, fused(n, 0x1.05c610p-29f, fused(n, -0x1.62e430p-1f, t)));
}
TSL_FN float power_of_two(int n) { return as_float(static_cast<Word>(n + 127) << 23); }

/// n / (a + b), where a is a small whole number and at least b, which is positive, in one rounding or so.
TSL_FN float quotient(float n, float a, float b) {
  float d = a + b, lost = b - (d - a), y = reciprocal(d), q = n * y;
  return fused(fused(-lost, q, fused(-d, q, n)), y, q);
}

#if defined(TSL_NATIVE)
/// a * b + c, rounded down.
TSL_FN float fused_down(float a, float b, float c) {
  float y;
  asm("fma.rm.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(a), "f"(b), "f"(c));
  return y;
}
/// e^x / 2^scale = root * power, where only the product can be subnormal or overflow: power is 2^n / 2^scale, n - scale
/// within
/// [-126, 126], and root is 2^f with f = x / log(2) - n, within [0, 1] where n is not at a bound (there estimates are
/// best).
struct ExpF {
  float root, power;
};
TSL_FN ExpF exp_f(float x, int scale = 0) {
  float part;  // (n - scale) / 252 + 1/2; 0 of NaN, which comes through by f
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(part) : "f"(x), "f"(0x1.77313cp-8f), "f"(0.5f - scale / 252.0f));
  const float shifted = fused_down(part, 252.0f, 0x1.8p23f + 1), n = shifted - (0x1.8p23f + (127 - scale));
  return {native_exp2(fused(x, kOpaqueLog2ERest, fused(x, 0x1.715476p0f, -n))), as_float(bits_of(shifted) << 23)};
}
/// weight * e^x
TSL_FN float times(ExpF e, float weight) { return weight * e.root * e.power; }
#else
/// e^x = (1 + m) * power * rest with m = r * slope, where only the last product can round: `rest` is 2 unless the
/// result may be subnormal.
struct ExpF {
  float r, slope, power, rest;
};
TSL_FN ExpF exp_f(float x) {
  ExpPartsF e = exp_parts_f(clamp(x, -112.0f, 89.0f));  // there the result is 0, or overflows
  int most = select(e.n < -100, -100, e.n) - 1;
  float rest = power_of_two(e.n - most);
#if !defined(__CUDACC__)
  rest = select(x < -112.0f, 0.0f, rest);  // spares processors the slow path
#endif
  return {e.r, fused(e.q, e.r, 1.0f), power_of_two(most), rest};
}
/// weight * e^x
TSL_FN float times(ExpF e, float weight) { return fused(weight * e.r, e.slope, weight) * e.power * e.rest; }
#endif
TSL_FN float s_exp(float x) { return times(exp_f(x), 1.0f); }
TSL_SHORT_UNARY(s_exp)

/// e^x - 1 = s m + (s - 1), with s = 2^n; half of it is computed, since 2^128 is no float.
TSL_FN float s_expm1(float x) {
  const ExpPartsF e = exp_parts_f(clamp(x, -20.0f, 89.0f));
  const float half = power_of_two(e.n - 1), m = fused(e.r * e.r, e.q, e.r);
  return select(magnitude(x) < 0x1p-25f, x, 2 * fused(half, m, half - 0.5f));
}
TSL_SHORT_UNARY(s_expm1)

/// A quarter of e^t for t in [0, 89.5], and a quarter of e^-t.
struct Exponentials {
  float rising, falling;
};
TSL_FN Exponentials quarter_exponentials(float t) {
  const ExpPartsF e = exp_parts_f(t);
  const float power = power_of_two(e.n - 2), y = fused(power, fused(e.r * e.r, e.q, e.r), power);
  return {y, 0x1p-4f * reciprocal(at_most(y, 0x1p40f))};
}

/// x + x^3 P(x^2) up to 1 (error 2^-31.6); beyond by exponentials, whose difference loses too much near 0.
TSL_FN float s_sinh(float x) {
  const float z = x * x;
  float p = 0x1.756c1ep-19f;
  p = fused(p, z, 0x1.a022bcp-13f);
  p = fused(p, z, 0x1.1110e0p-7f);
  p = fused(p, z, 0x1.555556p-3f);
  const Exponentials e = quarter_exponentials(at_most(magnitude(x), 89.5f));
  return select(magnitude(x) < 1, fused(x * z, p, x), copy_sign(2 * (e.rising - e.falling), x));
}
TSL_SHORT_UNARY(s_sinh)

TSL_FN float s_cosh(float x) {
  const Exponentials e = quarter_exponentials(at_most(magnitude(x), 89.5f));
  return 2 * (e.rising + e.falling);
}
TSL_SHORT_UNARY(s_cosh)

#if defined(TSL_NATIVE)
/// x + x^3 P(x^2) up to 0.55 (error 2^-24.6); beyond 1 - 2 / (e^2x + 1), which loses too much near 0.
TSL_FN float s_tanh(float x) {
  const float z = x * x;
  float p = 0x1.0d5036p-6f;
  p = fused(p, z, -0x1.af7cccp-5f);
  p = fused(p, z, 0x1.10cef6p-3f);
  p = fused(p, z, -0x1.555452p-2f);
  const float near = fused(p * z, x, x);
  const float far = fused(-2.0f, native_reciprocal(native_exp2(magnitude(x) * kOpaqueTwoLog2E) + 1.0f), 1.0f);
  return copy_sign(select(magnitude(x) < 0.55f, near, far), x);
}

/// weight / (1 + e^-x), of which a 2^32nd is computed as long as it may be subnormal: e^-x gets no greater than 2^158.
TSL_FN float sigmoid_times(float x, float weight) {
  const ExpF e = exp_f(-x, 32);
  return weight * native_reciprocal(fused(e.root, e.power, 0x1p-32f)) * 0x1p-32f;
}
#else
/// (e^2x - 1) / (e^2x + 1), the numerator by the parts of its exponential, which lose nothing near 0: exp_parts_f() for
/// 2x, in terms of half its r.
TSL_FN float s_tanh(float x) {
  float t = at_most(magnitude(x), 10.0f);
  float shifted = fused(t, 0x1.715476p1f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  float h = fused(n, 0x1.05c610p-30f, fused(n, -0x1.62e430p-2f, t));
  float q = 0x1.6a2352p-5f;
  q = fused(q, h, 0x1.123a6cp-3f);
  q = fused(q, h, 0x1.5558f4p-2f);
  q = fused(q, h, 0x1.555490p-1f);
  q = fused(q, h, 0x1.fffffcp-1f);
  float twice = power_of_two(static_cast<int>(bits_of(shifted)) - 0x4b400000 + 1);
  float above = fused(twice, fused(h * h, q, h), fused(0.5f, twice, -1.0f));
  return copy_sign(quotient(above, 2.0f, above), x);
}

/// weight * sigmoid(x): weight / (1 + e^-|x|), times e^-|x| for negative x.
TSL_FN float sigmoid_times(float x, float weight) {
  ExpF e = exp_f(-magnitude(x));
  return quotient(select(x < 0, times(e, weight), weight), 1.0f, times(e, 1.0f));
}
#endif
TSL_SHORT_UNARY(s_tanh)

TSL_FN float s_sigmoid(float x) { return sigmoid_times(x, 1.0f); }
TSL_FN double s_sigmoid(double x) {
  double e = s_exp(-magnitude(x));
  return select(x < 0, e, select(x != x, x, 1.0)) / (1 + e);
}
TSL_SHORT_UNARY(s_sigmoid)

TSL_FN float s_silu(float x) {
  float y = sigmoid_times(x, clamp(x, -200.0f, 100.0f));
  return copy_sign(select(x > 100.0f, x, y), x);
}
TSL_FN double s_silu(double x) { return select(x < -800.0, -800.0, x) * s_sigmoid(x); }
TSL_SHORT_UNARY(s_silu)

// ---- Logarithms, powers and roots ----------------------------------------------------------------------------

/// log(1 + f) + k log(2) = f - f^2/2 + f^3 P(f) + k log(2), with 1 + f in [sqrt(1/2), sqrt(2)]; error 2^-30.3.
TSL_FN float log_of_parts(float f, float k) {
  float p = 0x1.1457b2p-4f;
  p = fused(p, f, -0x1.de4054p-4f);
  p = fused(p, f, 0x1.e6f2aap-4f);
  p = fused(p, f, -0x1.fc218cp-4f);
  p = fused(p, f, 0x1.23373cp-3f);
  p = fused(p, f, -0x1.555c4ep-3f);
  p = fused(p, f, 0x1.99a4b8p-3f);
  p = fused(p, f, -0x1.000006p-2f);
  p = fused(p, f, 0x1.555548p-2f);
  const float z = f * f, low = fused(k, -0x1.bd0106p-13f, fused(f * z, p, -0.5f * z));
  return fused(k, 0x1.63p-1f, f + low);
}

/// The logarithm y of x, but for 0, infinity, negative numbers and NaN.
TSL_FN float log_or_edge(float x, float y) {
  y = select(x == infinity<float>(), x, y);
  y = select(x == 0, -infinity<float>(), y);
  return select((x < 0) | (x != x), not_a_number<float>(), y);
}

/// x = (1 + f) 2^k
TSL_FN float s_log(float x) {
  bool subnormal = x < 0x1p-126f;
  Word bits = bits_of(select(subnormal, x * 0x1p23f, x)) - 0x3f3504f3u;
  int exponent = static_cast<int>(bits) >> 23;
  float k = static_cast<float>(exponent) - select(subnormal, 23.0f, 0.0f);
  return log_or_edge(x, log_of_parts(as_float((bits & 0x007fffffu) + 0x3f3504f3u) - 1, k));
}
TSL_SHORT_UNARY(s_log)

/// 1 + x = (1 + f) 2^k; the exponent is that of the rounded sum, and f is made of x itself.
TSL_FN float s_log1p(float x) {
  const Word exponent = (bits_of(1 + x) - 0x3f3504f3u) & 0xff800000u;
  const float k = static_cast<float>(static_cast<int>(exponent) >> 23), four = as_float(0x40800000u - exponent);
  const float f = as_float(bits_of(x) - exponent) + fused(four, 0.25f, -1.0f);
  float y = copy_sign(log_of_parts(f, k), x);
  y = select(x == infinity<float>(), x, y);
  y = select(x == -1, -infinity<float>(), y);
  return select((x < -1) | (x != x), not_a_number<float>(), y);
}
TSL_SHORT_UNARY(s_log1p)

/// max(x, 0) + log(1 + e) with e = e^-|x|, where 1 + e is 1 + f, or 2 (1 + f) if it exceeds sqrt(2). e is not rounded.
TSL_FN float s_softplus(float x) {
  const float size = magnitude(x);
  const ExpPartsF e = exp_parts_f(-at_most(size, 112.0f));
  const bool is_halved = size < 0x1.c34366p-1f;  // -log(sqrt(2) - 1)
  const int n = e.n - static_cast<int>(is_halved), most = select(n < -100, -100, n);
  const float power = power_of_two(most), m = fused(e.r * e.r, e.q, e.r);
  const float f = fused(power, m, power - select(is_halved, 0.5f, 0.0f));
  const float rest = select(size > 104.0f, 0.0f, power_of_two(n - most));  // spares processors the slow path
  return select(x > 0, x, 0.0f) + log_of_parts(f, select(is_halved, 1.0f, 0.0f)) * rest;
}
TSL_FN double s_softplus(double x) { return select(x > 0, x, select(x != x, x, 0.0)) + s_log1p(s_exp(-magnitude(x))); }
TSL_SHORT_UNARY(s_softplus)

#if defined(__CUDACC__)
TSL_FN float s_sqrt(float x) { return ::sqrtf(x); }
TSL_FN double s_sqrt(double x) { return ::sqrt(x); }
#else
TSL_FN float s_sqrt(float x) { return __builtin_sqrtf(x); }
TSL_FN double s_sqrt(double x) { return __builtin_sqrt(x); }
#endif
TSL_SHORT_UNARY(s_sqrt)
template <class T> TSL_FN T s_rsqrt(T x) { return 1 / s_sqrt(x); }
TSL_SHORT_UNARY(s_rsqrt)

/// log2(x) for positive finite x, relative error 2^-33 or so: with x = m 2^k, m in [sqrt(1/2), sqrt(2)], f = m - 1 and
/// s = f / (2 + f), log2(m) = 2/log(2) (s + s^3 (1/3 + z T(z))), z = s^2; error of T 2^-36.7.
TSL_FN Pair<float> log2_of(float x) {
  const bool subnormal = x < 0x1p-126f;
  const Word bits = bits_of(select(subnormal, x * 0x1p23f, x)) - 0x3f3504f3u;
  const float k = static_cast<float>(static_cast<int>(bits) >> 23) - select(subnormal, 23.0f, 0.0f);
  const float f = as_float((bits & 0x007fffffu) + 0x3f3504f3u) - 1;
  const float d = 2 + f, d_lost = f - (d - 2), y = reciprocal(d), s = f * y;
  const float s_low = fused(-s, d_lost, fused(-s, d, f)) * y, z = s * s;
  const float t = z * fused(fused(0x1.df9f9ap-4f, z, 0x1.24528ap-3f), z, 0x1.999a00p-3f);
  const float p = t + 0x1.555556p-2f, p_low = t - (p - 0x1.555556p-2f) - 0x1.555556p-27f;
  const float cube = s * z, cube_low = fused(s, z, -cube) + s * (fused(s, s, -z) + 3 * s * s_low);
  const float rest = cube * p, rest_low = fused(cube, p, -rest) + fused(cube, p_low, cube_low * p);
  const float half = s + rest, half_low = rest - (half - s) + (s_low + rest_low);  // of log(m)
  const float high = half * 0x1.715476p1f;
  const float low = fused(half, 0x1.715476p1f, -high) + fused(half, 0x1.4ae0c0p-25f, half_low * 0x1.715476p1f);
  const float sum = k + high;
  return {sum, high - (sum - k) + low};
}
/// 2^x; 2^x.high beyond 160, where the low part is of no use.
TSL_FN float exp2_of(Pair<float> x) {
  const bool is_huge = magnitude(x.high) > 160;
  const float high = clamp(x.high, -160.0f, 160.0f), shifted = high + 0x1.8p23f, part = high - (shifted - 0x1.8p23f);
  const float low = select(is_huge, 0.0f, x.low * 0x1.62e430p-1f);
  const ExpPartsF e = exp_parts_f(shifted, fused(part, 0x1.62e430p-1f, fused(part, -0x1.05c610p-29f, low)));
  const int half = e.n >> 1;
  const float rest = select(x.high < -151, 0.0f, power_of_two(e.n - half));  // spares processors the slow path
  return fused(e.r, fused(e.q, e.r, 1.0f), 1.0f) * power_of_two(half) * rest;
}
/// As in C99. Integers wrap around; a negative exponent gives the whole part of the result: 0, but for bases 1 and -1.
TSL_FN float s_pow(float a, float b) {
  const float size = magnitude(a), factor = clamp(b, -0x1p40f, 0x1p40f);
  const Pair<float> log = log2_of(size);
  float high = select(size == 0, -infinity<float>(), log.high);
  high = select(size < infinity<float>(), high, size);
  const float exponent = high * factor;
  float y = exp2_of({exponent, fused(high, factor, -exponent) + log.low * factor});
  bool huge = magnitude(b) >= 0x1p24f;  // then b is even
  int whole = static_cast<int>(select(huge | (b != b), 0.0f, b));
  bool is_whole = huge | (static_cast<float>(whole) == b);
  Word odd = select(is_whole, static_cast<Word>(whole) << 31, 0u);
  y = as_float(bits_of(y) ^ (odd & bits_of(a)));
  y = select((a < 0) & (size < infinity<float>()) & !is_whole, not_a_number<float>(), y);
  return select((b == 0) | (a == 1) | ((a == -1) & (magnitude(b) == infinity<float>())), 1.0f, y);
}
template <class I> TSL_FN I s_pow(I a, I b) {
  if (b < 0) {
    if (a == 1) return 1;
    return static_cast<I>(a == static_cast<I>(-1) ? (b & 1 ? -1 : 1) : 0);
  }
  Unsigned<I> result = 1, square = static_cast<Unsigned<I>>(a);
  for (Unsigned<I> n = static_cast<Unsigned<I>>(b); n != 0; n >>= 1) {
    if (n & 1) result *= square;
    square *= square;
  }
  return static_cast<I>(result);
}
TSL_SHORT_BINARY(s_pow)

TSL_FN float s_log2(float x) {
  const Pair<float> log = log2_of(x);
  return log_or_edge(x, log.high + log.low);
}
TSL_SHORT_UNARY(s_log2)

/// log10(2) is 0x1.344136p-2 and a rest.
TSL_FN float s_log10(float x) {
  const Pair<float> log = log2_of(x);
  const float high = log.high * 0x1.344136p-2f, lost = fused(log.high, 0x1.344136p-2f, -high);
  return log_or_edge(x, high + fused(log.high, -0x1.ec10cp-27f, fused(log.low, 0x1.344136p-2f, lost)));
}
TSL_SHORT_UNARY(s_log10)

TSL_FN float s_exp2(float x) { return exp2_of({x, 0.0f}); }
TSL_SHORT_UNARY(s_exp2)

/// A third of the exponent gives 4 bits; two steps of Halley 24, and one of Newton makes up for their rounding.
TSL_FN float s_cbrt(float x) {
  const float size = magnitude(x);
  const float scale = select(size < 0x1p-96f, 0x1p48f, select(size > 0x1p96f, 0x1p-48f, 1.0f));
  const float back = select(size < 0x1p-96f, 0x1p-16f, select(size > 0x1p96f, 0x1p16f, 1.0f)), a = size * scale;
  const float third = static_cast<float>(static_cast<int>(bits_of(a))) * 0x1.555556p-2f;
  float t = as_float(static_cast<Word>(static_cast<int>(third)) + 0x2a5137a0u);
  for (int i = 0; i < 2; ++i) {
    const float cube = t * t * t;
    t = t * ((cube + 2 * a) / (2 * cube + a));
  }
  const float square = t * t, square_low = fused(t, t, -square);
  t = t - fused(square_low, t, fused(square, t, -a)) / (3 * square);
  return select((size < infinity<float>()) & (size > 0), copy_sign(t * back, x), x);
}
TSL_FN double s_cbrt(double x) {
  const double size = magnitude(x);
  const double scale = select(size < 0x1p-900, 0x1p300, select(size > 0x1p900, 0x1p-300, 1.0));
  const double back = select(size < 0x1p-900, 0x1p-100, select(size > 0x1p900, 0x1p100, 1.0)), a = size * scale;
  double t = as_double(((bits_of(a) >> 32) / 3 + 0x2a9f7893u) << 32);
  for (int i = 0; i < 3; ++i) {
    const double cube = t * t * t;
    t = t * ((cube + 2 * a) / (2 * cube + a));
  }
  const double square = t * t, square_low = fused(t, t, -square);
  t = t - fused(square_low, t, fused(square, t, -a)) / (3 * square);
  return select((size < infinity<double>()) & (size > 0), copy_sign(t * back, x), x);
}
TSL_SHORT_UNARY(s_cbrt)

/// Scaled by a power of two, so that neither square overflows nor vanishes.
TSL_FN float s_hypot(float a, float b) {
  const float x = magnitude(a), y = magnitude(b), most = select(x > y, x, y), least = select(x > y, y, x);
  const float scale = select(most > 0x1p60f, 0x1p-70f, select(most < 0x1p-60f, 0x1p90f, 1.0f));
  const float back = select(most > 0x1p60f, 0x1p70f, select(most < 0x1p-60f, 0x1p-90f, 1.0f));
  const float p = most * scale, q = least * scale;
  const bool is_infinite = (x == infinity<float>()) | (y == infinity<float>());
  return select(is_infinite, infinity<float>(), s_sqrt(fused(p, p, q * q)) * back);
}
TSL_FN double s_hypot(double a, double b) {
  const double x = magnitude(a), y = magnitude(b), most = select(x > y, x, y), least = select(x > y, y, x);
  const double scale = select(most > 0x1p500, 0x1p-600, select(most < 0x1p-450, 0x1p700, 1.0));
  const double back = select(most > 0x1p500, 0x1p600, select(most < 0x1p-450, 0x1p-700, 1.0));
  const double p = most * scale, q = least * scale;
  const bool is_infinite = (x == infinity<double>()) | (y == infinity<double>());
  return select(is_infinite, infinity<double>(), s_sqrt(fused(p, p, q * q)) * back);
}
TSL_SHORT_BINARY(s_hypot)

// ---- Inverse hyperbolic functions, by log1p ------------------------------------------------------------------

/// log(1 + t), or log(2 t) if t exceeds 2^24: what they are for such arguments.
TSL_FN float log_of_hyperbola(float t, float near) {
  const bool far = t > 0x1p24f;
  return s_log1p(select(far, t, near)) + select(far, 0x1.62e430p-1f, 0.0f);
}
/// log(t + sqrt(t^2 + 1)), t = |x|
TSL_FN float s_asinh(float x) {
  const float t = magnitude(x), small = at_most(t, 0x1p24f);
  const float root = s_sqrt(fused(small, small, 1.0f));
  return copy_sign(log_of_hyperbola(t, small + small * (small / (1 + root))), x);
}
/// log(x + sqrt(x^2 - 1)), t = x - 1
TSL_FN float s_acosh(float x) {
  const float t = at_most(x, 0x1p24f) - 1;
  return select(x < 1, not_a_number<float>(), log_of_hyperbola(x, t + s_sqrt(t * (t + 2))));
}
/// log((1 + t) / (1 - t)) / 2, t = |x|
TSL_FN float s_atanh(float x) {
  const float t = magnitude(x);
  return copy_sign(0.5f * s_log1p(2 * t / (1 - t)), x);
}
TSL_FN double s_asinh(double x) { return TSL_LIBM(asinh)(opaque(x)); }
TSL_FN double s_acosh(double x) { return TSL_LIBM(acosh)(opaque(x)); }
TSL_FN double s_atanh(double x) { return TSL_LIBM(atanh)(opaque(x)); }
TSL_SHORT_UNARY(s_asinh)
TSL_SHORT_UNARY(s_acosh)
TSL_SHORT_UNARY(s_atanh)

// ---- The error function and gelu -----------------------------------------------------------------------------

TSL_FN double upper_half(double x) {  // Veltkamp: its first 26 bits
  double t = x * 0x1.000002p27;
  return t - (t - x);
}
TSL_FN Pair<double> product(Pair<double> a, Pair<double> b) {
  double high = a.high * b.high;
  double a1 = upper_half(a.high), a2 = a.high - a1, b1 = upper_half(b.high), b2 = b.high - b1;
  double error = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2;
  return {high, error + (a.high * b.low + a.low * b.high)};
}
TSL_FN Pair<double> sum(Pair<double> a, Pair<double> b) {
  double high = a.high + b.high, b1 = high - a.high;
  return {high, (a.high - (high - b1)) + (b.high - b1) + (a.low + b.low)};
}

/// x + x P(x^2) up to 0.9375 (error 2^-30.9).
TSL_FN float erf_near(float x) {
  float z = x * x;
  float p = 0x1.5bfc34p-14f;
  p = fused(p, z, -0x1.aa06bep-11f);
  p = fused(p, z, 0x1.54c2d0p-8f);
  p = fused(p, z, -0x1.b80e30p-6f);
  p = fused(p, z, 0x1.ce2e06p-4f);
  p = fused(p, z, -0x1.812742p-2f);
  p = fused(p, z, 0x1.06eba8p-3f);
  return fused(x, p, x);
}
/// Beyond 0.9375 1 - exp(-(t + t Q(t))) up to 3.95 (error 2^-30.5), then 1.
TSL_FN float s_erf(float x) {
  float t = clamp(magnitude(x), 0.0f, 4.0f);
  float q = 0x1.8dbeccp-17f;
  q = fused(q, t, -0x1.59091ep-12f);
  q = fused(q, t, 0x1.e0c3acp-9f);
  q = fused(q, t, -0x1.86341ep-6f);
  q = fused(q, t, 0x1.b36782p-4f);
  q = fused(q, t, 0x1.452d8ap-1f);
  q = fused(q, t, 0x1.077dd2p-3f);
  ExpPartsF e = exp_parts_f(-fused(t, q, t));
  float far = fused(-power_of_two(e.n), fused(fused(e.q, e.r, 1.0f), e.r, 1.0f), 1.0f);
  return select(magnitude(x) < 0.9375f, erf_near(x), copy_sign(far, x));
}
TSL_FN double s_erf(double x) { return TSL_LIBM(erf)(opaque(x)); }
TSL_SHORT_UNARY(s_erf)

/// R of gelu: 1/2 + p(v), p(v) being less than 1/2 - q; its last coefficient is `constant` (see there).
TSL_FN float gelu_ratio(float v, float constant) {
  float p = 0x1.8ebee0p-4f;
  p = fused(p, v, 0x1.c05558p-5f);
  p = fused(p, v, -0x1.1a1e46p-2f);
  p = fused(p, v, 0x1.3e6882p-3f);
  p = fused(p, v, 0x1.076a52p-3f);
  p = fused(p, v, -0x1.0068c6p-2f);
  p = fused(p, v, 0x1.b8ecfap-4f);
  p = fused(p, v, 0x1.5d4276p-3f);
  p = fused(p, v, -0x1.13f0a6p-2f);
  p = fused(p, v, -0x1.330a20p-4f);
  p = fused(p, v, 0x1.12419ap-1f);
  return fused(p, v, constant);
}
/// max(x, 0) - t Phi(-t), t = |x|, Phi being the normal distribution function. t Phi(-t) is exp(-t^2 / 2) q R with
/// q = t / (t + 7/4) and R = 1/2 + p, p a polynomial in 1/2 - q (error 2^-26.3 of R). What t^2 loses to rounding is
/// made up for (and what q does, if not native); powers of two are split off lest a product in between is subnormal.
TSL_FN float s_gelu(float x) {
#if defined(TSL_NATIVE)
  const float t = native_min(magnitude(x), 14.5f);  // where the result is 0 or x
  const float q = t * native_reciprocal(t + kOpaqueGeluOffset);
  const float square = t * t, square_low = fused(t, t, -square);
  const float shifted = native_max(fused(square, -0x1.715476p-1f, 0x1.8p23f + 127), 0x1.8p23f + 1),
              n = shifted - (0x1.8p23f + 127);
  const float f =
      fused(square_low, -0x1.715476p-1f, fused(square, -kOpaqueHalfLog2ERest, fused(square, -0x1.715476p-1f, -n)));
  const float tail = q * gelu_ratio(0.5f - q, 0x1.4bef66p-1f) * native_exp2(f);
  return fused(-tail, as_float(bits_of(shifted) << 23), native_max(x, -0.0f));
#else
  float t = select(magnitude(x) < 14.5f, magnitude(x), 14.5f);  // where the result is 0 or x
  float d = t + 1.75f, lost = t - (d - 1.75f), y = reciprocal(d), q = t * y;
  float rest = fused(-q, lost, fused(-q, d, t)) * y, p = gelu_ratio((0.5f - q) - rest, 0x1.4bef66p-1f - 0.5f);
  float high = 0.5f * q, low = fused(q, p, rest * (0.5f + p));
  float square = t * t, square_low = fused(t, t, -square);
  float shifted = fused(square, -0x1.715476p-1f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  float r = fused(n, 0x1.05c610p-29f, fused(n, -0x1.62e430p-1f, -0.5f * square));
  ExpPartsF e = exp_parts_f(shifted, fused(square_low, -0.5f, r));
  float tail = high + fused(fused(e.r * e.r, e.q, e.r), high + low, low);
  const float lower = tail * power_of_two(e.n + 64) * 0x1p-64f;
  return select(x < 0, -lower, x - lower);  // not max(x, -0) - lower: compilers may take either zero for the greater
#endif
}
/// erfc(-x / sqrt(2)), corrected for the rounding of its argument, which the tail magnifies.
TSL_FN double s_gelu(double x) {
  double t = clamp(x, -40.0, infinity<double>());
  Pair<double> z = product({-clamp(t, -40.0, 40.0), 0}, {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55});  // sqrt(1/2)
  double slope = -1.1283791670955126 * s_exp(-z.high * z.high);
  return 0.5 * t * (TSL_LIBM(erfc)(opaque(z.high)) + slope * z.low);
}
#if defined(TSL_NATIVE)
/// The same for elements of at most 11 bits, whose squares are exact, with a shorter p (error 2^-17.2) and an exponent
/// that is rounded (2^-18). Over all elements, bf16's normal results are the nearest, and some 180 of f16 the nearest
/// but one.
template <int E> TSL_FN Short<E> s_gelu(Short<E> element) {
  const float x = widen(element), t = native_min(magnitude(x), 14.5f);
  const float q = t * native_reciprocal(t + kOpaqueGeluOffset), v = 0.5f - q;
  float p = -0x1.5b8344p-3f;
  p = fused(p, v, 0x1.0a707cp-3f);
  p = fused(p, v, 0x1.451d9cp-3f);
  p = fused(p, v, -0x1.159be4p-2f);
  p = fused(p, v, -0x1.30df50p-4f);
  p = fused(p, v, 0x1.12466ap-1f);
  p = fused(p, v, 0x1.4beeeep-1f);
  return narrow<Short<E>>(fused(-(q * p), native_exp2(t * t * -kOpaqueHalfLog2E), native_max(x, -0.0f)));
}
#else
TSL_SHORT_UNARY(s_gelu)
#endif

/// x / (1 + e), or x e / (1 + e) for negative x, with e = exp(-2u), u = sqrt(2/pi) (t + 0.044715 t^3), t = |x|: the
/// same as x/2 (1 + tanh(u)). u is a pair, since the tail magnifies what it loses; the first factor has few enough bits
/// that its distance from the sum is exact. Powers of two are split off lest a product in between is subnormal.
TSL_FN float s_gelu_tanh(float x) {
  const float bounded = clamp(x, -11.0f, 11.0f), t = magnitude(bounded), z = t * t, z_low = fused(t, t, -z);
  const float factor = fused(0x1.2444f2p-4f, z, 0x1.98845p0f);
  const float factor_low = fused(0x1.2444f2p-4f, z, 0x1.98845p0f - factor) +
                           fused(0x1.2444f2p-4f, z_low, fused(0x1.49b16ap-29f, z, 0x1.9ea1b2p-23f));
  const float u2 = factor * t, u2_low = fused(factor_low, t, fused(factor, t, -u2));
  const float shifted = fused(u2, -0x1.715476p0f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  const float r = fused(n, -0x1.62e430p-1f, -u2) + fused(n, 0x1.05c610p-29f, -u2_low);
  const ExpPartsF e = exp_parts_f(shifted, r);
  const float m = fused(e.r * e.r, e.q, e.r), power = power_of_two(select(e.n < -100, -100, e.n));
  const bool is_tail = x < 0;
  const float tail = bounded * power_of_two(e.n + 64);
  const float y = quotient(select(is_tail, fused(tail, m, tail), bounded), 1.0f, fused(power, m, power));
  return copy_sign(select(x > 11.0f, x, y * select(is_tail, select(x < -11.0f, 0.0f, 0x1p-64f), 1.0f)), x);
}
TSL_FN double s_gelu_tanh(double x) {
  double t = clamp(x, -30.0, 30.0);
  Pair<double> cubic = product(product({t, 0}, {t, 0}), {0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c70p-61});
  Pair<double> u2 = product({t, 0}, sum({0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54}, cubic));
  double e = s_exp(-magnitude(u2.high));
  e = e - e * (u2.low * copy_sign(1.0, u2.high));
  return clamp(x, -30.0, infinity<double>()) * select(x < 0, e, 1.0) / (1 + e);
}
TSL_SHORT_UNARY(s_gelu_tanh)

}  // namespace tsl::math
