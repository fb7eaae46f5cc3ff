// Elementwise ops of one operand.
#include "backend/cpu/isa/kernel_map.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tsl::cpu::TSL_ISA {

namespace {

#if defined(__AVX512F__)
// Bodies of exp and of functions made of it, as vectors: they dominate softmax, attention and activations, and AVX-512
// has an instruction for y * 2^n that rounds once and replaces nine of the scalar bodies (the same steps, names and
// bits). GCC 12 warns about the forms without a mask.
constexpr __mmask16 kAll = 0xffff;

__m512 all_of(float value) { return _mm512_set1_ps(value); }
__m512 at_least(__m512 x, float low) { return _mm512_maskz_max_ps(kAll, all_of(low), x); }  // NaN, the second, is kept
__m512 at_most(__m512 x, float high) { return _mm512_maskz_min_ps(kAll, all_of(high), x); }

/// e^x = (1 + r slope) 2^n, or 0 if it `vanishes`.
struct ExpLanes {
  __m512 r, slope, n;
  __mmask16 vanishes;
  __m512 value() const {
    return _mm512_maskz_scalef_ps(static_cast<__mmask16>(~vanishes), _mm512_fmadd_ps(slope, r, all_of(1.0f)), n);
  }
};
ExpLanes exp_lanes(__m512 x) {
  const __m512 t = at_most(at_least(x, -112.0f), 89.0f), shift = all_of(0x1.8p23f);
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(t, all_of(0x1.715476p0f), shift), shift);
  const __m512 r = _mm512_fmadd_ps(n, all_of(0x1.05c610p-29f), _mm512_fmadd_ps(n, all_of(-0x1.62e430p-1f), t));
  __m512 q = all_of(0x1.6a2352p-10f);
  q = _mm512_fmadd_ps(q, r, all_of(0x1.123a6cp-7f));
  q = _mm512_fmadd_ps(q, r, all_of(0x1.5558f4p-5f));
  q = _mm512_fmadd_ps(q, r, all_of(0x1.555490p-3f));
  q = _mm512_fmadd_ps(q, r, all_of(0x1.fffffcp-2f));
  return {r, _mm512_fmadd_ps(q, r, all_of(1.0f)), n, _mm512_cmp_ps_mask(x, all_of(-112.0f), _CMP_LT_OQ)};
}

/// n / (1 + b), as quotient().
__m512 quotient_lanes(__m512 n, __m512 b) {
  const __m512 one = all_of(1.0f), d = _mm512_add_ps(one, b), lost = _mm512_sub_ps(b, _mm512_sub_ps(d, one));
  const __m512 y = _mm512_div_ps(one, d), q = _mm512_mul_ps(n, y);
  return _mm512_fmadd_ps(_mm512_fnmadd_ps(lost, q, _mm512_fnmadd_ps(d, q, n)), y, q);
}

__m512 apply_lanes(Fn_exp, __m512 x) { return exp_lanes(x).value(); }
__m512 apply_lanes(Fn_sigmoid, __m512 x) {
  const __m512 e = exp_lanes(_mm512_or_ps(x, all_of(-0.0f))).value();
  return quotient_lanes(_mm512_mask_mov_ps(all_of(1.0f), _mm512_cmp_ps_mask(x, __m512{}, _CMP_LT_OQ), e), e);
}
__m512 apply_lanes(Fn_silu, __m512 x) {
  const ExpLanes e = exp_lanes(_mm512_or_ps(x, all_of(-0.0f)));
  const __m512 weight = at_most(at_least(x, -200.0f), 100.0f);
  // Scaled in two steps, of which the last one can round, as in times().
  const __m512 most = _mm512_sub_ps(at_least(e.n, -100.0f), all_of(1.0f));
  const __m512 scaled =
      _mm512_maskz_scalef_ps(kAll, _mm512_fmadd_ps(_mm512_mul_ps(weight, e.r), e.slope, weight), most);
  const __m512 falling = _mm512_maskz_scalef_ps(static_cast<__mmask16>(~e.vanishes), scaled, _mm512_sub_ps(e.n, most));
  const __mmask16 is_negative = _mm512_cmp_ps_mask(x, __m512{}, _CMP_LT_OQ);
  const __m512 y = quotient_lanes(_mm512_mask_mov_ps(weight, is_negative, falling), e.value());
  const __m512 size = _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, all_of(100.0f), _CMP_GT_OQ), x);
  const __m512 sign = all_of(-0.0f);
  return _mm512_or_ps(_mm512_andnot_ps(sign, size), _mm512_and_ps(sign, x));
}

template <class Fn> bool map_lanes(void* out, const void* const* in, size_t count) {
  const float* from = static_cast<const float*>(in[0]);
  float* to = static_cast<float*>(out);
  for (size_t i = 0; i < count; i += 16) {
    const __mmask16 inside = count - i >= 16 ? kAll : static_cast<__mmask16>((1u << (count - i)) - 1);
    _mm512_mask_storeu_ps(to + i, inside, apply_lanes(Fn(), _mm512_maskz_loadu_ps(inside, from + i)));
  }
  return true;
}
template <> [[gnu::noinline]] bool map_unary<Fn_exp, float>(void* out, const void* const* in, size_t count) {
  return map_lanes<Fn_exp>(out, in, count);
}
template <> [[gnu::noinline]] bool map_unary<Fn_sigmoid, float>(void* out, const void* const* in, size_t count) {
  return map_lanes<Fn_sigmoid>(out, in, count);
}
template <> [[gnu::noinline]] bool map_unary<Fn_silu, float>(void* out, const void* const* in, size_t count) {
  return map_lanes<Fn_silu>(out, in, count);
}
#endif

}  // namespace

void exponentiate(float* x, size_t n) {
  const void* in[] = {x};
  map_unary<Fn_exp, float>(x, in, n);
}
void exponentiate(double* x, size_t n) {
  const void* in[] = {x};
  map_unary<Fn_exp, double>(x, in, n);
}

void add_unary_kernels(KernelTable& table) {
#define TSL_UNARY(name, rule, ...) add_map_kernels<Fn_##name, DTypeRule::rule, 1>(table);
#define TSL_BINARY(...)
#define TSL_TERNARY(...)
#include "tensor/bodies/elementwise.def"
}

}  // namespace tsl::cpu::TSL_ISA
