// Casts between all dtypes.
#include <type_traits>

#include "backend/cpu/isa/kernel_base.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tsl::cpu::TSL_ISA {

void widen(float* out, const math::BFloat16* in, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = math::widen(in[i]);
}
void narrow(math::BFloat16* out, const float* in, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = math::narrow<math::BFloat16>(in[i]);
}
void widen(float* out, const math::Half* in, size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
#endif
  for (; i < n; ++i) out[i] = math::widen(in[i]);
}
void narrow(math::Half* out, const float* in, size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
  }
#endif
  for (; i < n; ++i) out[i] = math::narrow<math::Half>(in[i]);
}

namespace {

template <class From, class To> bool cast_elements(void* out, const void* const* in, size_t n) {
  const From* x = static_cast<const From*>(in[0]);
  To* y = static_cast<To*>(out);
  if constexpr (math::kIsShort<From> && std::is_same_v<To, float>) {
    widen(y, x, n);
  } else if constexpr (std::is_same_v<From, float> && math::kIsShort<To>) {
    narrow(y, x, n);
  } else if constexpr (math::kIsShort<From> || math::kIsShort<To>) {
    float wide[kBuffer];
    for (size_t begin = 0; begin < n; begin += kBuffer) {
      size_t count = least(kBuffer, n - begin);
      if constexpr (math::kIsShort<From>) widen(wide, x + begin, count);
      else
        for (size_t i = 0; i < count; ++i) wide[i] = math::s_cast<float>(x[begin + i]);
      if constexpr (math::kIsShort<To>) narrow(y + begin, wide, count);
      else
        for (size_t i = 0; i < count; ++i) y[begin + i] = math::s_cast<To>(wide[i]);
    }
  } else {
    TSL_VECTORIZE
    for (size_t i = 0; i < n; ++i) y[i] = math::s_cast<To>(x[i]);
  }
  return true;
}

/// Copies elements of an equal dtype, by size.
template <size_t kSize> bool copy_elements(void* out, const void* const* in, size_t n) {
  __builtin_memmove(out, in[0], n * kSize);
  return true;
}

}  // namespace

void add_cast_kernels(KernelTable& table) {
  for_each_dtype([&](auto from) {
    for_each_dtype([&](auto to) {
      using From = Element<from.value>;
      using To = Element<to.value>;
      MapKernel& kernel = table.cast[index_of(from.value)][index_of(to.value)];
      if constexpr (from.value == to.value) kernel = copy_elements<sizeof(From)>;
      else kernel = cast_elements<From, To>;
    });
  });
}

}  // namespace tsl::cpu::TSL_ISA
