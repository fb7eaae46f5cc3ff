// The scalar bodies of the elementwise ops, part 5: special functions. Follows scalar_angles.h; see scalar_math.h for
// the rules of these files, and scalar_functions.h for what the bounds of errors mean.
//
// f32 within 4 ulp (gamma of negative numbers and zeta: 6), but for lgamma and digamma of negative numbers: these have
// zeros at which the error is one of the terms. f64: erfc and gamma by the platform's libm, the others by fits of the
// same form. The coefficients are minimax fits of our own, but for most of erfinv in f64.
#pragma once

#include "tensor/bodies/scalar_angles.h"

namespace tsl::math {

/// leading x^n + ... + others, by Horner's scheme.
template <class... C> TSL_FN float polynomial(float x, float leading, C... others) {
  float p = leading;
  ((p = fused(p, x, others)), ...);
  return p;
}
template <class... C> TSL_FN double polynomial(double x, double leading, C... others) {
  double p = leading;
  ((p = p * x + others), ...);
  return p;
}

template <class F> constexpr F kPi = static_cast<F>(3.14159265358979323846);

/// pi times what x has beyond the nearest whole number; NaN of infinity.
template <class F> TSL_FN F angle_beyond_whole(F x) { return kPi<F> * (x - s_round(x)); }
/// sin(pi x)
template <class F> TSL_FN F sin_of_turns(F x) {
  const F half = F(0.5) * s_round(x), sine = sin_near(angle_beyond_whole(x));
  return select(half == s_floor(half), sine, -sine);
}

// ---- The error function's complement and inverse -------------------------------------------------------------

/// exp(-x^2) 2 R / (t + 7/4), with t = sqrt(2) |x| and R of gelu; 1 - erf(x) near 0.
TSL_FN float s_erfc(float x) {
  const float size = at_most(magnitude(x), 10.5f), t = size * 0x1.6a09e6p0f, y = reciprocal(t + 1.75f);
  const float ratio = 2 * gelu_ratio(0.5f - t * y, 0x1.4bef66p-1f) * y;
  const float square = size * size, square_low = fused(size, size, -square);
  const float shifted = fused(square, -0x1.715476p0f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  const float r = fused(n, 0x1.05c610p-29f, fused(n, -0x1.62e430p-1f, -square));
  const ExpPartsF e = exp_parts_f(shifted, r - square_low);
  const float tail = fused(ratio, fused(e.r * e.r, e.q, e.r), ratio) * power_of_two(e.n + 64) * 0x1p-64f;
  return select(magnitude(x) < 0.5f, 1 - erf_near(x), select(x < 0, 2 - tail, tail));
}
TSL_FN double s_erfc(double x) { return TSL_LIBM(erfc)(opaque(x)); }
TSL_SHORT_UNARY(s_erfc)

/// x P(x^2) while x^2 is below 0.45 (error 2^-25.0); beyond a polynomial in sqrt(-log(1 - x^2)), error 2^-28.5.
TSL_FN float s_erfinv(float x) {
  const float z = x * x, size = magnitude(x);
  const float near =
      x * polynomial(z, 0x1.21ca78p2f, -0x1.493ba8p3f, 0x1.48f43cp3f, -0x1.6bf98ep2f, 0x1.00e9aap1f, -0x1.7f6a32p-2f,
                     0x1.f78ec6p-4f, 0x1.4f183ep-4f, 0x1.05abe8p-3f, 0x1.db27aep-3f, 0x1.c5bf8ap-1f);
  const float s = s_sqrt(-s_log((1 - size) * (1 + size)));
  const float middle =
      polynomial(s - 1.5f, -0x1.47d51cp-18f, -0x1.94bf8ep-14f, -0x1.684334p-16f, 0x1.3460fp-11f, 0x1.ba6b08p-12f,
                 -0x1.ecdb06p-9f, -0x1.78e1ecp-10f, 0x1.f84ed2p-6f, 0x1.e4305p-1f, 0x1.5c8d94p0f);
  const float end = polynomial(s - 3.125f, -0x1.210c8cp-16f, 0x1.483a8ep-15f, 0x1.5730ap-21f, -0x1.eca546p-13f,
                               0x1.0605b8p-10f, -0x1.7d4fd4p-9f, 0x1.72913p-8f, 0x1.011498p0f, 0x1.7aa774p1f);
  const float far = select(size == 1, infinity<float>(), select(s < 2.25f, middle, end));
  return select(z < 0.45f, near, copy_sign(far, x));
}
/// x + x P / Q below 0.85, and root - 7/16 + P / Q beyond, where root^2 is -log((1 - |x|) / 2): only the last
/// operations round. P / Q is Wichura's ("Algorithm AS 241", Applied Statistics 37, 1988) less what stands before it,
/// and near 1, where his is off by 14 ulp, a polynomial (error 2^-55).
TSL_FN double s_erfinv(double x) {
  const double q = 0.5 * x, size = magnitude(q), r = 0.180625 - q * q;
  const double ratio =
      polynomial(r, -4339.4012092274, -16909.59238865965, -15525.854417978322, -4977.931786419022, -539.3091320403623,
                 9.875657851838096, 4.759357410783067, 0.19753231156709125) /
      polynomial(r, 5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
                 5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0);
  const double near = fused(x, ratio, x);
  const double square = -s_log(0.5 - size), root = s_sqrt(square), s = root - 1.6;
  const double root_low = fused(-root, root, square) / (root + root);
  const double middle =
      polynomial(s, -1.0507500716444169e-09, 9.100193395365209e-08, 0.00023294052054702384, 0.005192364025492142,
                 0.03641143794143479, 0.10117893007606665, 0.07766161760536798, -0.112691975764389,
                 -0.15597796639631217) /
      polynomial(s, 1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
                 0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0);
  const double end = polynomial(root - 5.5, 3.014404623105505e-10, -2.047107598596967e-09, 1.2217581633321639e-08,
                                -7.445167330614401e-08, 4.578522224030385e-07, -2.838174513785657e-06,
                                1.7771535961329893e-05, -0.00011277007109020868, 0.0007292022665113711,
                                -0.0048554798139859925, 0.034094687251020925, 0.1637095375055793);
  const double far =
      select(size == 0.5, infinity<double>(), (root - 0.4375) + (root_low + select(root <= 5, middle, end)));
  return select(size <= 0.5, copy_sign(select(size <= 0.425, near, far), x), not_a_number<double>());
}
TSL_SHORT_UNARY(s_erfinv)

// ---- The gamma function --------------------------------------------------------------------------------------

/// y = x less the whole number that takes it below `end`, of numbers of at most end + kSteps; product: that of y and of
/// what lies between, each 1 apart: gamma(x) = product gamma(y).
template <class F> struct Descent { F y, product; };
template <int kSteps, class F> TSL_FN Descent<F> descend(F x, F end) {
  Descent<F> d = {x, 1};
  for (int i = 0; i < kSteps; ++i) {
    const bool is_above = d.y >= end;
    d.y = select(is_above, d.y - 1, d.y);
    d.product = select(is_above, d.product * d.y, d.product);
  }
  return d;
}

/// gamma(t) = 2^power series below 50 for t >= 8, by Stirling's formula; the series' error is 2^-34.
struct StirlingF {
  Pair<float> power;
  float series;
};
TSL_FN StirlingF stirling(float t) {
  const float bounded = clamp(t, 8.0f, 50.0f), w = reciprocal(bounded);
  const float series =
      0x1.40d932p1f * polynomial(w, 0x1.a4b3d2p-18f, -0x1.62a4d8p-9f, 0x1.c73dbap-9f, 0x1.555552p-4f, 1.0f);
  const Pair<float> log = log2_of(bounded);
  const float n = bounded - 0.5f, up = n * log.high, down = bounded * 0x1.715476p0f, high = up - down;
  const float up_low = fused(n, log.high, -up) + n * log.low;
  const float down_low = fused(bounded, 0x1.715476p0f, -down) + bounded * 0x1.4ae0cp-26f;
  return {{high, ((up - high) - down) + (up_low - down_low)}, series};
}
/// By gamma(x) = gamma(1 + x) / x and a polynomial on [1, 2] (error 2^-25.0) below 8. Of negative numbers
/// gamma(-t) = -pi / (sin(pi t) t gamma(t)).
TSL_FN float s_gamma(float x) {
  const float t = magnitude(x);
  const bool is_small = t < 1, is_far = t >= 8;
  const Descent<float> d = descend<6>(select(is_small, t + 1, t), 2.0f);
  const float fit = polynomial(d.y - 1.5f, -0x1.73620ap-7f, 0x1.bc5946p-7f, -0x1.05631p-6f, 0x1.aea152p-6f,
                               -0x1.39000cp-5f, 0x1.dddfcep-5f, -0x1.3d77cp-4f, 0x1.285072p-3f, -0x1.b77b58p-4f,
                               0x1.a8c456p-2f, 0x1.08ea8cp-5f, 0x1.c5bf8ap-1f);
  const StirlingF s = stirling(t);
  const float near = select(is_small, fit / x, d.product * fit);
  const float positive = select(is_far, exp2_of(s.power) * s.series, near);
  const float sine = sin_of_turns(t), divisor = sine * select(is_small, fit, t * select(is_far, s.series, near));
  // 2^24 is split off, since the power may be subnormal where the sine is small.
  const float inverse = exp2_of({24 - s.power.high, -s.power.low});
  const float negative = -kPi<float> / divisor * select(is_far, inverse, 1.0f) * select(is_far, 0x1p-24f, 1.0f);
  const float y = select(x < 0, select(sine == 0, not_a_number<float>(), negative), positive);
  return select(x == infinity<float>(), x, y);
}
TSL_FN double s_gamma(double x) { return TSL_LIBM(tgamma)(opaque(x)); }
TSL_SHORT_UNARY(s_gamma)

// lgamma(1 + t) / t and lgamma(2 + t) / t for t in [-1/2, 1/2], errors 2^-25.9 and 2^-53.8; and the sum in Stirling's
// formula times x, of 1 / x^2, x >= 8: errors 2^-25.0 and 2^-54.0.
TSL_FN float lgamma_at_one(float t) {
  return polynomial(t, 0x1.503028p-3f, -0x1.7a44f6p-3f, 0x1.824bb6p-5f, -0x1.6f5c5cp-5f, 0x1.b3fa24p-4f,
                    -0x1.edb288p-4f, 0x1.ffee24p-4f, -0x1.2514cp-3f, 0x1.5b4a02p-3f, -0x1.a8d324p-3f, 0x1.15132p-2f,
                    -0x1.9a4d0ep-2f, 0x1.a51a66p-1f, -0x1.2788dp-1f);
}
TSL_FN float lgamma_at_two(float t) {
  return polynomial(t, -0x1.47878p-12f, 0x1.28fafap-11f, -0x1.2e757p-10f, 0x1.799444p-9f, -0x1.e470b6p-8f,
                    0x1.51347ap-6f, -0x1.13df96p-4f, 0x1.4a34ccp-2f, 0x1.b0ee6p-2f);
}
TSL_FN float stirling_sum(float w) { return polynomial(w, 0x1.aa815p-11f, -0x1.6c2a06p-9f, 0x1.555556p-4f); }
TSL_FN double lgamma_at_one(double t) {
  return polynomial(
      t, 0x1.a5a5c096e13c6p-3, -0x1.e73cdc1e54abfp-3, -0x1.1eee231effa1cp-3, 0x1.8667b410d792fp-3, 0x1.0777bbb031edcp-3,
      -0x1.5dbd6efa5dadep-3, 0x1.c388b231f59dp-7, 0x1.c80ab7950bf15p-9, 0x1.a12e8921a25fcp-5, -0x1.e38dd2ac4a80fp-5,
      0x1.942f69df98p-5, -0x1.9f390b9c8aa86p-5, 0x1.c76e8e2a0acfcp-5, -0x1.e3d227477dedcp-5, 0x1.00024a1ff7d1dp-4,
      -0x1.10fdceba58c2ep-4, 0x1.2496681caedafp-4, -0x1.3b1ee32f9a6bap-4, 0x1.556ae0d5a63e9p-4, -0x1.748c255842d4p-4,
      0x1.9a01e303196d2p-4, -0x1.c80670cb9d8aep-4, 0x1.010b36b151581p-3, -0x1.2703a1dc28289p-3, 0x1.5b40cb10056c3p-3,
      -0x1.a8b9c17aa7b51p-3, 0x1.151322ac7d8a4p-2, -0x1.9a4d55beab2ccp-2, 0x1.a51a6625307d3p-1, -0x1.2788cfc6fb619p-1);
}
TSL_FN double lgamma_at_two(double t) {
  return polynomial(t, -0x1.2f37949fb3018p-23, 0x1.2b42f1787fbecp-22, -0x1.c58cb2d66d277p-22, 0x1.edf7bbfa26018p-21,
                    -0x1.12f7199516316p-19, 0x1.264064fef633bp-18, -0x1.3caba387844d7p-17, 0x1.5806db3ba12d5p-16,
                    -0x1.78dee72be5a94p-15, 0x1.a127dd03554bbp-14, -0x1.d3fd49bfe18a2p-13, 0x1.0b36af3470edfp-11,
                    -0x1.38ac5c2fdbc7dp-10, 0x1.7add6eae5ace5p-9, -0x1.e404fc2189b5ep-8, 0x1.51322ac7d7fd9p-6,
                    -0x1.13e001a557613p-4, 0x1.4a34cc4a60fa7p-2, 0x1.b0ee6072093cep-2);
}
TSL_FN double stirling_sum(double w) {
  return polynomial(w, -0x1.55e123b0aa668p-6, 0x1.96e539308b77ap-8, -0x1.f6000bcfac1ecp-10, 0x1.b94f721902a76p-11,
                    -0x1.38137ec70b489p-11, 0x1.a01a019ee548ap-11, -0x1.6c16c16c16b2ep-9, 0x1.5555555555555p-4);
}

/// Below 1/2 by gamma(x) = gamma(1 + x) / x, beyond 5/2 by gamma(x) = (x - 1) gamma(x - 1), from 8 on by Stirling's
/// formula. Of negative numbers gamma(-t) = -pi / (sin(pi t) t gamma(t)).
template <class F> TSL_FN F s_lgamma(F x) {
  const F t = magnitude(x);
  const bool is_small = t < F(0.5), is_far = t >= 8;
  const Descent<F> d = descend<6>(select(is_far, F(1), t), F(2.5));
  const F log = s_log(select(is_small | is_far, t, d.product));
  const F near_one = select(is_small, x, d.y - 1), near_two = d.y - 2;
  const F base = select(d.y < F(1.5), near_one * lgamma_at_one(near_one), near_two * lgamma_at_two(near_two));
  const F sum = stirling_sum(1 / (t * t)) / t + F(0.41893853320467274178);
  const F far = (t - F(0.5)) * (log - 1) + sum;
  const F positive = select(is_far, far, select(is_small, base - log, base + log));
  const F mirrored = s_log(kPi<F> / (t * magnitude(sin_of_turns(t)))) - positive;
  return select(t == infinity<F>(), t, select((x < 0) & !is_small, mirrored, positive));
}
TSL_SHORT_UNARY(s_lgamma)

// digamma has a zero at 1.46; these are digamma(1.5 + t) by the distance from it, t in [-1/2, 1/2], errors 2^-26.5 and
// 2^-53.4; and x^2 (log(x) - 1 / (2x) - digamma(x)) of 1 / x^2, x >= 10: errors 2^-25.0 and 2^-54.0.
TSL_FN float digamma_near(float y) {
  return ((y - 0x1.762d86p0f) - 0x1.ab5f2p-27f) *
         polynomial(y - 1.5f, 0x1.4850a2p-7f, -0x1.0c12b6p-6f, 0x1.223d56p-6f, -0x1.a699f8p-6f, 0x1.4d6efcp-5f,
                    -0x1.fc5a2cp-5f, 0x1.851f46p-4f, -0x1.2febcap-3f, 0x1.eca134p-3f, -0x1.b1cb68p-2f, 0x1.e6f0ccp-1f);
}
TSL_FN float digamma_sum(float w) { return polynomial(w, 0x1.058538p-8f, -0x1.1117e8p-7f, 0x1.555556p-4f); }
TSL_FN double digamma_near(double y) {
  return ((y - 0x1.762d86356be3fp0) - 0x1.b86a722197829p-54) *
         polynomial(y - 1.5, -0x1.676141e68d5bfp-13, 0x1.102923c8e82b9p-12, -0x1.4282191a829ddp-13,
                    0x1.dce353b0681e8p-13, -0x1.f845a888f8d97p-12, 0x1.7b2f8b429f273p-11, -0x1.101dc1c37d66ep-10,
                    0x1.9811814689aefp-10, -0x1.336385828caaep-9, 0x1.cd3e1be86a59p-9, -0x1.5a0744d28dd74p-8,
                    0x1.03c009127c972p-7, -0x1.86355de7238b6p-7, 0x1.256475dc96201p-6, -0x1.b9f8b13f6a8bap-6,
                    0x1.4de9aa05ffbdap-5, -0x1.fb442029b1188p-5, 0x1.8512e5905ca98p-4, -0x1.2feeeb98a7e29p-3,
                    0x1.eca189b8e6da8p-3, -0x1.b1cb63005ee96p-2, 0x1.e6f0cbb873617p-1);
}
TSL_FN double digamma_sum(double w) {
  return polynomial(w, 0x1.1df8e105f24f6p-4, -0x1.56adefa3952e8p-6, 0x1.f0684ebce7fafp-8, -0x1.1110ff8ed2725p-8,
                    0x1.041040fca932fp-8, -0x1.11111111107a7p-7, 0x1.5555555555555p-4);
}

/// By digamma(x) = digamma(x - 1) + 1 / (x - 1) from [1, 2] to 10, then by Stirling's formula. Of negative numbers
/// digamma(x) = digamma(1 - x) - pi / tan(pi x).
template <class F> TSL_FN F s_digamma(F x) {
  const bool is_negative = x < 0;
  const F t = select(is_negative, 1 - x, x);
  const bool is_small = t < 1, is_far = t >= 10;
  F y = select(is_small, t + 1, select(is_far, F(1), t)), rest = select(is_small, -1 / t, F(0));
  for (int i = 0; i < 8; ++i) {
    const bool is_above = y > 2;
    y = select(is_above, y - 1, y);
    rest = select(is_above, rest + 1 / y, rest);
  }
  const F w = 1 / (t * t), far = s_log(select(is_far, t, F(1))) - F(0.5) / t - w * digamma_sum(w);
  const F positive = select(is_far, far, rest + digamma_near(y)), angle = angle_beyond_whole(x);
  const F mirrored = positive - kPi<F> / tan_near(select(angle == 0, not_a_number<F>(), angle));
  return select(x == 0, copy_sign(infinity<F>(), -x), select(is_negative, mirrored, positive));
}
TSL_SHORT_UNARY(s_digamma)

/// The sum of (q + k)^-s over k, s > 1, q > 0: ten terms, and the rest by the formula of Euler and Maclaurin.
template <class F> TSL_FN F sum_of_powers(F s, F q) {
  F sum = 0;
  for (int k = 0; k < 10; ++k) sum += s_pow(q + static_cast<F>(k), -s);
  const F end = q + 10, integral = s_pow(end, 1 - s) / (s - 1), order = clamp(s, F(1), F(1e4));
  F power = s_pow(end, -s), term = power * order / end;
  sum += integral + F(0.5) * power;
  // Bernoulli's numbers B(2j) / (2j)!
  constexpr F kBernoulli[] = {F(0x1.5555555555555p-4),   F(-0x1.6c16c16c16c17p-10), F(0x1.1566abc011567p-15),
                              F(-0x1.bbd779334ef0bp-21), F(0x1.66a8f2bf70ebep-26),  F(-0x1.22805d644267fp-31),
                              F(0x1.d6db2c4e09162p-37),  F(-0x1.7da4e1f79955cp-42), F(0x1.355871d652e9ep-47),
                              F(-0x1.f57d968caacf1p-53), F(0x1.967e1f09c376fp-58),  F(-0x1.497d9033a2b5cp-63)};
  constexpr int kTerms = sizeof(F) == sizeof(float) ? 5 : 12;
  for (int j = 0; j < kTerms; ++j) {
    sum += kBernoulli[j] * term;
    term *= (order + static_cast<F>(2 * j + 1)) / end * ((order + static_cast<F>(2 * j + 2)) / end);
  }
  return sum;
}
/// The terms of negative numbers of a whole s are, but for their sign, those from the first negative number on less
/// those beyond the last: three sums for b < 0.
template <class F> TSL_FN F s_zeta(F a, F b) {
  const F whole = s_floor(b);
  if (b <= 0 && whole == b) return select(a == 1, infinity<F>(), select(a > 1, infinity<F>(), not_a_number<F>()));
  if (!(a > 1) || b != b || (b < 0 && s_floor(a) != a))
    return select(a == 1 && b == b, infinity<F>(), not_a_number<F>());
  const F half = F(0.5) * a, sign = select(s_floor(half) == half, F(1), F(-1));
  const F starts[3] = {select(b < 0, b - whole, b), (whole + 1) - b, 1 - b}, signs[3] = {1, sign, -sign};
  F sum = 0;
  for (int i = 0; i < (b < 0 ? 3 : 1); ++i) sum += signs[i] * sum_of_powers(a, starts[i]);
  return sum;
}
TSL_SHORT_BINARY(s_zeta)

}  // namespace tsl::math
