// Functions by the GPU's estimates (TSL_NATIVE) that take the place of the scalar bodies (tensor/bodies/scalar_math.h
// and its neighbours).
//
// Elements of at most 11 bits need a relative error of some 2^-20 to round as the exact value does, but for a few that
// are nearly halfway between two elements. tests/backend/cuda/driver/accuracy.cpp counts these over all elements. Each
// #if is a part of the text: a kernel gets those that it uses.
#pragma once

#include "tensor/bodies/scalar_special.h"

namespace tsl::math {

#if defined(TSL_NATIVE)
__constant__ float kOpaqueOne = 1;
__constant__ float kOpaqueLog2E = 0x1.715476p0f;
#endif

#if defined(TSL_NATIVE)
/// 1 / sqrt(x), within 2^-22.4 of it, also for subnormal x.
TSL_FN float native_full_rsqrt(float x) {
  float y;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
TSL_FN float s_rsqrt(float x) { return native_full_rsqrt(x * kOpaqueOne); }
/// No result of at most 11 bits is within 2^-21.4 of halfway between two.
TSL_FN Half s_rsqrt(Half x) { return narrow<Half>(native_rsqrt(widen(x) * kOpaqueOne)); }
TSL_FN BFloat16 s_rsqrt(BFloat16 x) { return narrow<BFloat16>(s_rsqrt(widen(x))); }
#endif

#if defined(TSL_NATIVE)
/// Roots of 11 bits may be within 2^-25 of halfway between two: one step makes up for what the estimate lacks.
TSL_FN Half s_sqrt(Half element) {
  const float x = widen(element) * kOpaqueOne, y = native_rsqrt(x), root = x * y;
  const float nearer = fused(fused(-root, root, x), 0.5f * y, root);
  return narrow<Half>(select((x == 0) | (x == infinity<float>()), x, nearer));
}
/// No root of 8 bits is within 2^-19 of that.
TSL_FN BFloat16 s_sqrt(BFloat16 x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(widen(x) * kOpaqueOne));
  return narrow<BFloat16>(y);
}
#endif

#if defined(TSL_NATIVE)
/// log2(x), within 2^-22.6 between 1/2 and 2, relatively elsewhere; for normal x.
TSL_FN float native_log2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// log(1 + v), where `sum` is 1 + v: near 0, v + v^2 P(v) (error 2^-21.5).
TSL_FN float short_log1p(float v, float sum) {
  float p = 0x1.a1428cp-3f;
  p = fused(p, v, -0x1.035730p-2f);
  p = fused(p, v, 0x1.554f46p-2f);
  p = fused(p, v, -0x1.fffcbap-2f);
  return select(magnitude(v) < 0.125f, fused(v * v, p, v), native_log2(sum * kOpaqueOne) * 0x1.62e430p-1f);
}
TSL_FN Half s_log(Half element) {
  const float x = widen(element);
  return narrow<Half>(short_log1p(x - 1.0f, x));
}
TSL_FN BFloat16 s_log(BFloat16 element) {
  const float x = widen(element);
  const bool is_subnormal = magnitude(x) < 0x1p-126f;
  const float y = short_log1p(x - 1.0f, select(is_subnormal, x * 0x1p8f, x));
  return narrow<BFloat16>(y - select(is_subnormal, 0x1.62e430p2f, 0.0f));
}
template <class S> TSL_FN S short_log1p(S element) {
  const float x = widen(element);
  return narrow<S>(short_log1p(x, 1.0f + x));
}
TSL_FN Half s_log1p(Half x) { return short_log1p(x); }
TSL_FN BFloat16 s_log1p(BFloat16 x) { return short_log1p(x); }
#endif

#if defined(TSL_NATIVE)
template <class S> TSL_FN S short_softplus(S element) {
  const float x = widen(element), e = native_exp2(magnitude(x) * -kOpaqueLog2E);
  return narrow<S>(native_max(x, 0.0f) + short_log1p(e, 1.0f + e));
}
TSL_FN Half s_softplus(Half x) { return short_softplus(x); }
TSL_FN BFloat16 s_softplus(BFloat16 x) { return short_softplus(x); }
#endif

#if defined(TSL_NATIVE)
/// x P(x^2) up to 0.875 (error 2^-21.6); beyond 1 - 2^-Q(|x|) (error 2^-21.4).
template <class S> TSL_FN S short_erf(S element) {
  const float x = widen(element), z = x * x, t = native_min(magnitude(x), 4.0f);
  float p = 0x1.f692c6p-9f;
  p = fused(p, z, -0x1.a9a724p-6f);
  p = fused(p, z, 0x1.cd34cap-4f);
  p = fused(p, z, -0x1.812144p-2f);
  p = fused(p, z, 0x1.20dd6ep+0f);
  float q = 0x1.3ca268p-7f;
  q = fused(q, t, -0x1.89b3aap-4f);
  q = fused(q, t, -0x1.f8eeecp-1f);
  q = fused(q, t, -0x1.95cdf2p+0f);
  q = fused(q, t, -0x1.5af346p-7f);
  const float far = copy_sign(1.0f - native_exp2(q * kOpaqueOne), x);
  return narrow<S>(select(magnitude(x) < 0.875f, x * p, far));
}
TSL_FN Half s_erf(Half x) { return short_erf(x); }
TSL_FN BFloat16 s_erf(BFloat16 x) { return short_erf(x); }
#endif

#if defined(TSL_NATIVE)
/// x / log(2), rounded, is at most 2^-20 from exact where e^x is an element of 11 bits.
TSL_FN Half s_exp(Half x) { return narrow<Half>(native_exp2(widen(x) * kOpaqueLog2E)); }
#endif

#if defined(TSL_NATIVE)
TSL_FN float short_sigmoid(float x) { return native_reciprocal(1.0f + native_exp2(x * -kOpaqueLog2E)); }
TSL_FN Half s_sigmoid(Half x) { return narrow<Half>(short_sigmoid(widen(x))); }
TSL_FN BFloat16 s_sigmoid(BFloat16 x) { return narrow<BFloat16>(short_sigmoid(widen(x))); }
/// Of -infinity -0. (bf16 has results that are greater than the sigmoid's least.)
TSL_FN Half s_silu(Half element) {
  const float x = widen(element);
  return narrow<Half>(native_max(x, -0x1p126f) * short_sigmoid(x));
}
#endif

#if defined(TSL_NATIVE)
/// 0 is greater than -0, and all NaNs are one.
TSL_FN float s_maximum(float a, float b) { return native_max(a, b); }
TSL_FN Half s_maximum(Half a, Half b) {
#if __CUDA_ARCH__ >= 800
  Half y;
  asm("max.NaN.f16 %0, %1, %2;" : "=h"(y.bits) : "h"(a.bits), "h"(b.bits));
  return y;
#else
  return narrow<Half>(native_max(widen(a), widen(b)));
#endif
}
TSL_FN BFloat16 s_maximum(BFloat16 a, BFloat16 b) {
#if __CUDA_ARCH__ >= 800
  BFloat16 y;
  asm("max.NaN.bf16 %0, %1, %2;" : "=h"(y.bits) : "h"(a.bits), "h"(b.bits));
  return y;
#else
  return narrow<BFloat16>(native_max(widen(a), widen(b)));
#endif
}
#endif

#if defined(TSL_NATIVE)
TSL_FN float s_minimum(float a, float b) { return native_min(a, b); }
TSL_FN Half s_minimum(Half a, Half b) {
#if __CUDA_ARCH__ >= 800
  Half y;
  asm("min.NaN.f16 %0, %1, %2;" : "=h"(y.bits) : "h"(a.bits), "h"(b.bits));
  return y;
#else
  return narrow<Half>(native_min(widen(a), widen(b)));
#endif
}
TSL_FN BFloat16 s_minimum(BFloat16 a, BFloat16 b) {
#if __CUDA_ARCH__ >= 800
  BFloat16 y;
  asm("min.NaN.bf16 %0, %1, %2;" : "=h"(y.bits) : "h"(a.bits), "h"(b.bits));
  return y;
#else
  return narrow<BFloat16>(native_min(widen(a), widen(b)));
#endif
}
#endif

#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
// The bits of the f32 product, rounded, in one instruction: that product is exact, or so small that the bits which it
// loses are too few to decide.
TSL_FN Half s_mul(Half a, Half b) {
  Half product;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(product.bits) : "h"(a.bits), "h"(b.bits));
  return product;
}
TSL_FN BFloat16 s_mul(BFloat16 a, BFloat16 b) { return fused(a, b, BFloat16{0x8000}); }  // a * b + -0
TSL_FN Half s_square(Half x) { return s_mul(x, x); }
TSL_FN BFloat16 s_square(BFloat16 x) { return s_mul(x, x); }
#endif

#if defined(TSL_NATIVE)
/// A quotient of 11 bits is halfway between two, or 2^-23 from that: one step makes up for what the estimate lacks.
TSL_FN Half s_div(Half a, Half b) {
  const float n = widen(a), d = widen(b), y = native_reciprocal(d * kOpaqueOne), q = n * y, rest = fused(-q, d, n);
  return narrow<Half>(select(magnitude(rest) > 0, fused(rest, y, q), q));  // of 0, infinity and NaN, the rest is NaN
}
/// A quotient of 8 bits that is normal is 2^-17 from halfway between two.
TSL_FN BFloat16 s_div(BFloat16 a, BFloat16 b) {
  float y;
  asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(widen(a) * kOpaqueOne), "f"(widen(b)));
  return narrow<BFloat16>(y);
}
#endif

#if defined(TSL_NATIVE)
/// All angles of f16 are near.
TSL_FN Half s_sin(Half x) { return narrow<Half>(sin_near(widen(x))); }
TSL_FN Half s_cos(Half x) { return narrow<Half>(cos_near(widen(x))); }
#endif

#if defined(TSL_NATIVE)
/// x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3). A quotient that is 2^32 as great is normal where the result is.
template <class S> TSL_FN S short_gelu_tanh(S element) {
  const float x = widen(element), t = native_max(x, -16.0f), u2 = t * fused(0x1.2444f2p-4f, t * t, 0x1.988454p0f);
  const float quotient = native_reciprocal(native_exp2(fused(u2, -kOpaqueLog2E, -32.0f)) + 0x1p-32f);
  return narrow<S>(select(x > 8.0f, x, quotient * t * 0x1p-32f));
}
TSL_FN Half s_gelu_tanh(Half x) { return short_gelu_tanh(x); }
TSL_FN BFloat16 s_gelu_tanh(BFloat16 x) { return short_gelu_tanh(x); }
#endif

}  // namespace tsl::math
