// Elementwise ops of one operand.
#include "backend/cpu/isa/kernel_map.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tsl::cpu::TSL_ISA {

namespace {

#if defined(__AVX512F__)
/// exp dominates softmax and attention, and AVX-512 has an instruction for y * 2^n that rounds once and replaces nine
/// of the body (s_exp: the same steps, names and bits).
template <> [[gnu::noinline]] bool map_unary<Fn_exp, float>(void* out, const void* const* in, size_t count) {
  const auto all = [](float value) { return _mm512_set1_ps(value); };
  const float* from = static_cast<const float*>(in[0]);
  float* to = static_cast<float*>(out);
  for (size_t i = 0; i < count; i += 16) {
    const __mmask16 inside = count - i >= 16 ? 0xffff : static_cast<__mmask16>((1u << (count - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(inside, from + i);
    // NaN, as the second operand, is kept. (GCC 12 warns about the forms without a mask.)
    const __m512 t = _mm512_maskz_min_ps(0xffff, all(89.0f), _mm512_maskz_max_ps(0xffff, all(-112.0f), x));
    const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(t, all(0x1.715476p0f), all(0x1.8p23f)), all(0x1.8p23f));
    const __m512 r = _mm512_fmadd_ps(n, all(0x1.05c610p-29f), _mm512_fmadd_ps(n, all(-0x1.62e430p-1f), t));
    __m512 q = all(0x1.6a2352p-10f);
    q = _mm512_fmadd_ps(q, r, all(0x1.123a6cp-7f));
    q = _mm512_fmadd_ps(q, r, all(0x1.5558f4p-5f));
    q = _mm512_fmadd_ps(q, r, all(0x1.555490p-3f));
    q = _mm512_fmadd_ps(q, r, all(0x1.fffffcp-2f));
    const __m512 y = _mm512_fmadd_ps(_mm512_fmadd_ps(q, r, all(1.0f)), r, all(1.0f));
    const __mmask16 vanishes = _mm512_cmp_ps_mask(x, all(-112.0f), _CMP_LT_OQ);
    _mm512_mask_storeu_ps(to + i, inside, _mm512_maskz_scalef_ps(static_cast<__mmask16>(~vanishes), y, n));
  }
  return true;
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
