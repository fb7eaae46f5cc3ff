// The scalar bodies of the elementwise ops, part 2: functions of f64 that CPUs compute by own polynomials, so that
// loops over them vectorise. GPUs call CUDA's libm. Follows scalar_math.h (see there for the rules of these files).
//
// Within 1 ulp (expm1: 1.1), subnormal results included; infinities, NaN and signed zeros as in C99. Angles beyond 2^30
// go to the platform's libm.
// The coefficients are minimax (Remez) fits; the interval and the relative error of the function stand at each.
#pragma once

#include "tensor/bodies/scalar_math.h"

namespace tsl::math {

/// high + low, where low is below high's last bit.
template <class F> struct Pair { F high, low; };
/// Moves what the low part has above the last bit of the high one.
TSL_FN Pair<double> normalized(Pair<double> x) {
  const double high = x.high + x.low;
  return {high, x.high - high + x.low};
}

/// log(1 + f) less f, for 1 + f in [sqrt(1/2), sqrt(2)]: s (f^2/2 + z L(z)) - f^2/2, s = f / (2 + f), z = s^2, error of
/// L 2^-64.8. The result is its negative, less k times the lower bits of log(2).
TSL_FN double log_rest(double f, double half_square, double k) {
  double s = f / (2 + f), z = s * s;
  double l = 0x1.0c0aff044a970p-3;
  l = fused(l, z, 0x1.0fbde0f4ad17bp-3);
  l = fused(l, z, 0x1.3b1c3c1c81c8fp-3);
  l = fused(l, z, 0x1.745cf8e4bba1bp-3);
  l = fused(l, z, 0x1.c71c7201a55d7p-3);
  l = fused(l, z, 0x1.2492492476a1ap-2);
  l = fused(l, z, 0x1.9999999999a39p-2);
  l = fused(l, z, 0x1.5555555555555p-1);
  return half_square - fused(s, fused(z, l, half_square), k * 0x1.ef35793c76730p-45);
}

/// x = (1 + f) 2^k, of positive normal numbers.
struct LogParts {
  double f, k;
};
TSL_FN LogParts log_parts(double x) {
  constexpr DoubleWord one = 0x3ff0000000000000ull, half_root = 0x3fe6a09e667f3bcdull;
  const DoubleWord biased = (bits_of(x) + (one - half_root)) >> 52;
  return {as_double(bits_of(x) - (biased << 52) + one) - 1,
          as_double(biased | 0x4330000000000000ull) - (0x1p52 + 1023)};
}
TSL_FN double log_of_parts(LogParts x) {
  const double rest = log_rest(x.f, 0.5 * x.f * x.f, x.k);
  return fused(x.k, 0x1.62e42fefa3800p-1, x.f - rest);  // k times 42 bits of log(2) is exact
}

#if defined(__CUDACC__)

#define TSL_PLATFORM_UNARY(name) \
  TSL_FN double s_##name(double x) { return TSL_LIBM(name)(opaque(x)); }
TSL_PLATFORM_UNARY(exp)
TSL_PLATFORM_UNARY(exp2)
TSL_PLATFORM_UNARY(expm1)
TSL_PLATFORM_UNARY(sinh)
TSL_PLATFORM_UNARY(cosh)
TSL_PLATFORM_UNARY(tanh)
TSL_PLATFORM_UNARY(log)
TSL_PLATFORM_UNARY(log1p)
TSL_PLATFORM_UNARY(log2)
TSL_PLATFORM_UNARY(log10)
TSL_PLATFORM_UNARY(sin)
TSL_PLATFORM_UNARY(cos)
TSL_PLATFORM_UNARY(tan)
#undef TSL_PLATFORM_UNARY
TSL_FN double s_pow(double a, double b) { return TSL_LIBM(pow)(opaque(a), opaque(b)); }
TSL_FN double sin_near(double x) { return s_sin(x); }
TSL_FN double tan_near(double x) { return s_tan(x); }

#else

// ---- Exponentials --------------------------------------------------------------------------------------------

/// Added to a whole number, leaves it in the lower bits of the sum.
inline constexpr double kShift = 0x1.8p52;
/// 2^n for n in [-1022, 1023], where kShift + n is `shifted`.
TSL_FN double power_of_two(double shifted) { return as_double((bits_of(shifted) + 1023) << 52); }
/// y 2^n with one rounding, for y in [1/2, 2] and whole n, |n| <= 1100; 0 if it `vanishes`, without the slow path that
/// processors take for results below the normal range.
TSL_FN double scaled(double y, double n, bool vanishes) {
  const double shifted = fused(n, 0.5, kShift), rest = n - (shifted - kShift);
  return y * power_of_two(shifted) * select(vanishes, 0.0, power_of_two(rest + kShift));
}

/// (e^r - 1 - r) / r^2 for |r| <= log(2)/2; error of e^r 2^-63.6.
TSL_FN double exp_slope(double r) {
  double q = 0x1.2051fe38bcb31p-29;
  q = fused(q, r, 0x1.af744f6af5947p-26);
  q = fused(q, r, 0x1.27e449e5ea6efp-22);
  q = fused(q, r, 0x1.71ddeaa9f098dp-19);
  q = fused(q, r, 0x1.a01a01e8cef90p-16);
  q = fused(q, r, 0x1.a01a01b5f52e9p-13);
  q = fused(q, r, 0x1.6c16c16c0a3f0p-10);
  q = fused(q, r, 0x1.111111110e549p-7);
  q = fused(q, r, 0x1.555555555556cp-5);
  q = fused(q, r, 0x1.555555555555dp-3);
  return fused(q, r, 0.5);
}
/// t = n log(2) + r + r_low, where kShift + n is `shifted`: e^t = (1 + r + rest) 2^n, rest = r^2 q + r_low.
struct ExpParts {
  double r, rest, shifted;
};
TSL_FN ExpParts exp_parts(double t) {
  const double shifted = fused(t, 0x1.71547652b82fep0, kShift), n = shifted - kShift;
  const double first = fused(n, -0x1.62e42fefa39efp-1, t),
               r = fused(n, -0x1.abc9e3b39803fp-56, first);  // first is exact
  const double r_low = fused(n, -0x1.abc9e3b39803fp-56, first - r);
  return {r, fused(r * r, exp_slope(r), r_low), shifted};
}
TSL_FN double s_exp(double x) {
  const double t = clamp(x, -750.0, 710.0), shifted = fused(t, 0x1.71547652b82fep0, kShift), n = shifted - kShift;
  const double r = fused(n, -0x1.abc9e3b39803fp-56, fused(n, -0x1.62e42fefa39efp-1, t));
  return scaled(fused(fused(exp_slope(r), r, 1.0), r, 1.0), n, x < -746);
}

/// e^x - 1 = (2^n - 1) + 2^n (r + rest); half of it is computed, since 2^1024 is no double. Not normalized.
TSL_FN Pair<double> half_expm1(double x) {
  const ExpParts e = exp_parts(x);
  const double half = power_of_two(e.shifted - 1), a = half - 0.5, b = half * e.r, high = a + b;
  return {high, fused(half, e.rest, b - (high - a))};
}
TSL_FN double s_expm1(double x) {
  const Pair<double> y = half_expm1(clamp(x, -40.0, 710.0));
  return select(magnitude(x) < 0x1p-54, x, 2 * (y.high + y.low));
}

/// A quarter of e^t for t in [0, 710.6], and a quarter of e^-t.
struct ExponentialPair {
  Pair<double> rising;
  double falling;
};
TSL_FN ExponentialPair quarter_exponentials(double t) {
  const ExpParts e = exp_parts(t);
  const double power = power_of_two(e.shifted - 2), high = 1 + e.r, low = e.r - (high - 1) + e.rest;
  const double y = power * (high + low);
  return {{power * high, power * low}, 0x1p-4 / select(y > 0x1p100, 0x1p100, y)};
}
/// x + x^3 P(x^2) up to 1 (error 2^-61.7); beyond by exponentials, whose difference loses too much near 0.
TSL_FN double s_sinh(double x) {
  const double z = x * x, size = magnitude(x);
  double p = 0x1.b5bba52fa257ap-41;
  p = fused(p, z, 0x1.61171c7991d4ep-33);
  p = fused(p, z, 0x1.ae646f98b2986p-26);
  p = fused(p, z, 0x1.71de3a3b69bc1p-19);
  p = fused(p, z, 0x1.a01a01a036c6ep-13);
  p = fused(p, z, 0x1.1111111111020p-7);
  p = fused(p, z, 0x1.5555555555556p-3);
  const ExponentialPair e = quarter_exponentials(select(size > 710.6, 710.6, size));
  const double high = e.rising.high - e.falling, low = e.rising.high - high - e.falling + e.rising.low;
  return select(size < 1, fused(x * z, p, x), copy_sign(2 * (high + low), x));
}
TSL_FN double s_cosh(double x) {
  const double size = magnitude(x);
  const ExponentialPair e = quarter_exponentials(select(size > 710.6, 710.6, size));
  const double high = e.rising.high + e.falling, low = e.rising.high - high + e.falling + e.rising.low;
  return 2 * (high + low);
}

/// n / d of pairs, in one rounding or so.
TSL_FN double quotient(Pair<double> n, Pair<double> d) {
  const double y = 1 / d.high, q = n.high * y;
  return fused(fused(-d.low, q, fused(-d.high, q, n.high) + n.low), y, q);
}
/// (e^2x - 1) / (e^2x + 1), of half of both.
TSL_FN double s_tanh(double x) {
  const double size = magnitude(x);
  const Pair<double> e = normalized(half_expm1(2 * select(size > 20, 20.0, size)));
  const double high = 1 + e.high;
  const double y = quotient(e, {high, e.high - (high - 1) + e.low});
  return copy_sign(select(size < 0x1p-30, size, y), x);
}

// ---- Logarithms and powers -----------------------------------------------------------------------------------

/// The logarithm y of x, but for 0, infinity, negative numbers and NaN.
TSL_FN double log_or_edge(double x, double y) {
  y = select(x == infinity<double>(), x, y);
  y = select(x == 0, -infinity<double>(), y);
  return select((x < 0) | (x != x), not_a_number<double>(), y);
}
/// The parts of any positive number.
TSL_FN LogParts all_log_parts(double x) {
  const bool is_subnormal = x < 0x1p-1022;
  LogParts parts = log_parts(select(is_subnormal, x * 0x1p54, x));
  parts.k -= select(is_subnormal, 54.0, 0.0);
  return parts;
}
TSL_FN double s_log(double x) { return log_or_edge(x, log_of_parts(all_log_parts(x))); }

/// 1 + x = (1 + f + f_low) 2^k; the exponent is that of the rounded sum, and f is made of x itself.
TSL_FN double s_log1p(double x) {
  constexpr DoubleWord one = 0x3ff0000000000000ull, half_root = 0x3fe6a09e667f3bcdull;
  const DoubleWord biased = (bits_of(1 + x) + (one - half_root)) >> 52;
  const double k = as_double(biased | 0x4330000000000000ull) - (0x1p52 + 1023);
  const double one_part = fused(as_double((2048 - biased) << 52), 0.25, -1.0);  // 2^-k - 1
  const double part = as_double(bits_of(x) - (biased << 52) + one), f = one_part + part;
  const bool is_far = magnitude(one_part) > magnitude(part);
  const double most = select(is_far, one_part, part), least = select(is_far, part, one_part);
  const double f_low = least - (f - most);
  const double rest = log_rest(f, 0.5 * f * f, k) - fused(-f, f_low, f_low);
  double y = fused(k, 0x1.62e42fefa3800p-1, f - rest);
  y = select(magnitude(x) < 0x1p-54, x, y);
  y = select(x == infinity<double>(), x, y);
  y = select(x == -1, -infinity<double>(), y);
  return select((x < -1) | (x != x), not_a_number<double>(), y);
}

/// log(1 + f); the low part makes up for the rounding of f^2.
TSL_FN Pair<double> log_pair(double f) {
  const double half = 0.5 * f, square = half * f, square_low = fused(half, f, -square);
  const double rest = log_rest(f, square, 0.0), high = f - rest;
  return {high, f - high - rest - square_low};
}
TSL_FN double s_log2(double x) {
  const LogParts parts = all_log_parts(x);
  const Pair<double> log = log_pair(parts.f);
  const double high = log.high * 0x1.71547652b82fep0, lost = fused(log.high, 0x1.71547652b82fep0, -high);
  const double low = fused(log.low, 0x1.71547652b82fep0, fused(log.high, 0x1.777d0ffda0d24p-56, lost));
  const double y = parts.k + high;
  return log_or_edge(x, y + (parts.k - y + high + low));
}
/// log10(2) is 0x1.34413509f7800p-2, of 42 bits, and a rest.
TSL_FN double s_log10(double x) {
  const LogParts parts = all_log_parts(x);
  const Pair<double> log = log_pair(parts.f);
  const double high = log.high * 0x1.bcb7b1526e50ep-2, lost = fused(log.high, 0x1.bcb7b1526e50ep-2, -high);
  const double low = fused(log.low, 0x1.bcb7b1526e50ep-2, fused(log.high, 0x1.95355baaafad3p-57, lost));
  const double up = parts.k * 0x1.34413509f7800p-2, y = up + high;
  return log_or_edge(x, y + (up - y + high + fused(parts.k, 0x1.fef311f12b358p-46, low)));
}

/// log2(x) for positive finite x, relative error 2^-65 or so: with x = (1 + f) 2^k and s = f / (2 + f), log2(1 + f) =
/// 2/log(2) (s + s^3 (1/3 + z T(z))), z = s^2; error of T 2^-73.4.
TSL_FN Pair<double> log2_of(double x) {
  const LogParts parts = all_log_parts(x);
  const double f = parts.f, d = 2 + f, d_lost = f - (d - 2), y = 1 / d, s = f * y;
  const double s_low = fused(-s, d_lost, fused(-s, d, f)) * y, z = s * s;
  double t = 0x1.eac82402785f0p-5;
  t = fused(t, z, 0x1.de3d2ae1abea2p-5);
  t = fused(t, z, 0x1.112070c68836ap-4);
  t = fused(t, z, 0x1.3b1364bfb082dp-4);
  t = fused(t, z, 0x1.745d18297587ap-4);
  t = fused(t, z, 0x1.c71c71c5965d0p-4);
  t = fused(t, z, 0x1.2492492492f52p-3);
  t = fused(t, z, 0x1.9999999999996p-3) * z;
  const double p = t + 0x1.5555555555555p-2, p_low = t - (p - 0x1.5555555555555p-2) + 0x1.5555555555555p-56;
  const double cube = s * z, cube_low = fused(s, z, -cube) + s * (fused(s, s, -z) + 3 * s * s_low);
  const double rest = cube * p, rest_low = fused(cube, p, -rest) + fused(cube, p_low, cube_low * p);
  const double half = s + rest, half_low = rest - (half - s) + (s_low + rest_low);  // of log(1 + f)
  const double high = half * 0x1.71547652b82fep1;
  const double low =
      fused(half, 0x1.71547652b82fep1, -high) + fused(half, 0x1.777d0ffda0d24p-55, half_low * 0x1.71547652b82fep1);
  const double sum = parts.k + high;
  return {sum, high - (sum - parts.k) + low};
}
/// 2^x; 2^x.high beyond 1100, where the low part is of no use.
TSL_FN double double_exp2_of(Pair<double> x) {
  const double high = clamp(x.high, -1100.0, 1100.0), n = (high + kShift) - kShift, part = high - n;
  const double low =
      fused(part, 0x1.abc9e3b39803fp-56, select(magnitude(x.high) > 1100, 0.0, x.low * 0x1.62e42fefa39efp-1));
  const double r = fused(part, 0x1.62e42fefa39efp-1, low), r_low = fused(part, 0x1.62e42fefa39efp-1, -r) + low;
  const double y = 1 + r, rest = fused(r * r, exp_slope(r), r_low);
  return scaled(y + (r - (y - 1) + rest), n, x.high < -1080);
}
TSL_FN double s_exp2(double x) { return double_exp2_of({x, 0.0}); }

/// As in C99.
TSL_FN double s_pow(double a, double b) {
  const double size = magnitude(a), factor = clamp(b, -0x1p70, 0x1p70);
  const Pair<double> log = log2_of(size);
  double high = select(size == 0, -infinity<double>(), log.high);
  high = select(size < infinity<double>(), high, size);
  const double exponent = high * factor;
  double y = double_exp2_of({exponent, fused(high, factor, -exponent) + log.low * factor});
  // From 2^52 on every number is whole, and from 2^53 on even.
  const double times = magnitude(b), half = 0.5 * times;
  const bool is_whole = (times >= 0x1p52) | ((times + 0x1p52) - 0x1p52 == times);
  const bool is_odd = is_whole & (times < 0x1p53) & ((half + 0x1p52) - 0x1p52 != half);
  y = as_double(bits_of(y) ^ select(is_odd, bits_of(a) & FloatTraits<double>::kSign, DoubleWord(0)));
  y = select((a < 0) & (size < infinity<double>()) & !is_whole, not_a_number<double>(), y);
  return select((b == 0) | (a == 1) | ((a == -1) & (times == infinity<double>())), 1.0, y);
}

// ---- Trigonometric functions ---------------------------------------------------------------------------------

/// An angle less its nearest multiple of pi/2, rest + low, |rest| <= pi/4; that multiple modulo 4 (the upper bits
/// vary).
struct DoubleAngle {
  double rest, low;
  DoubleWord quadrant;
};
/// Whether the functions whose names end in _near hold; beyond, the platform's do.
TSL_FN bool is_near_angle(double x) { return magnitude(x) <= 0x1p30; }
/// By pi/2 in three parts. The first step is exact; what the second loses is made up for.
TSL_FN DoubleAngle reduce_near_angle(double x) {
  const double shifted = fused(x, 0x1.45f306dc9c883p-1, kShift), n = shifted - kShift;
  const double first = fused(n, -0x1.921fb54442d18p0, x), step = n * 0x1.1a62633145c07p-54, rest = first - step;
  const double step_low = fused(n, 0x1.1a62633145c07p-54, -step);
  return {rest, fused(n, 0x1.f1976b7ed8fbcp-110, first - rest - step - step_low), bits_of(shifted)};
}

/// r + r^3 S(r^2) and 1 - r^2/2 + r^4 C(r^2), errors 2^-58.0 and 2^-63.9.
TSL_FN Pair<double> sine_pair(DoubleAngle angle) {
  const double r = angle.rest, z = r * r;
  double s = 0x1.5d937820ce4d3p-33;
  s = fused(s, z, -0x1.ae5e6819f43ecp-26);
  s = fused(s, z, 0x1.71de357a905c1p-19);
  s = fused(s, z, -0x1.a01a019c15a3fp-13);
  s = fused(s, z, 0x1.111111110f8a4p-7);
  s = fused(s, z, -0x1.5555555555549p-3);
  return {r, fused(r * z, s, fused(-0.5 * z, angle.low, angle.low))};
}
TSL_FN Pair<double> cosine_pair(DoubleAngle angle) {
  const double r = angle.rest, z = r * r;
  double c = -0x1.8fa6813061d30p-37;
  c = fused(c, z, 0x1.1ee9dbcf6ba9ep-29);
  c = fused(c, z, -0x1.27e4f7f19b7f1p-22);
  c = fused(c, z, 0x1.a01a019c8f3d7p-16);
  c = fused(c, z, -0x1.6c16c16c15016p-10);
  c = fused(c, z, 0x1.555555555554bp-5);
  const double high = fused(-0.5, z, 1.0);
  return {high, fused(z * z, c, fused(-r, angle.low, fused(-0.5, z, 1 - high)))};
}
TSL_FN double double_sin_of(DoubleAngle angle) {
  const Pair<double> sine = sine_pair(angle), cosine = cosine_pair(angle);
  const double y = select((angle.quadrant & 1) != 0, cosine.high + cosine.low, sine.high + sine.low);
  return as_double(bits_of(y) ^ (angle.quadrant & 2) << 62);
}
TSL_FN double sin_near(double x) { return select(x == 0, x, double_sin_of(reduce_near_angle(x))); }
TSL_FN double cos_near(double x) {
  const DoubleAngle angle = reduce_near_angle(x);
  return double_sin_of({angle.rest, angle.low, angle.quadrant + 1});
}
/// The quotient of sine and cosine, or their negative inverse.
TSL_FN double tan_near(double x) {
  const DoubleAngle angle = reduce_near_angle(x);
  const Pair<double> sine = normalized(sine_pair(angle)), cosine = normalized(cosine_pair(angle));
  const bool is_turned = (angle.quadrant & 1) != 0;
  const double y = quotient({select(is_turned, -cosine.high, sine.high), select(is_turned, -cosine.low, sine.low)},
                            {select(is_turned, sine.high, cosine.high), select(is_turned, sine.low, cosine.low)});
  return select(magnitude(x) < 0x1p-30, x, y);
}
TSL_FN double s_sin(double x) { return is_near_angle(x) ? sin_near(x) : TSL_LIBM(sin)(x); }
TSL_FN double s_cos(double x) { return is_near_angle(x) ? cos_near(x) : TSL_LIBM(cos)(x); }
TSL_FN double s_tan(double x) { return is_near_angle(x) ? tan_near(x) : TSL_LIBM(tan)(x); }

#endif

}  // namespace tsl::math
