// Combines floats in the reduction order of kernels.h, with vectors of the machine's width.
#pragma once

#include <utility>

#include "backend/cpu/isa/kernel_base.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tsl::cpu::TSL_ISA {
namespace {

/// A vector of at most kMost elements.
template <class T, size_t kMost = kVectorBytes / sizeof(T)> struct VectorOf {
  static constexpr size_t kBytes = kMost * sizeof(T) < kVectorBytes ? kMost * sizeof(T) : kVectorBytes;
  typedef T Type __attribute__((vector_size(kBytes)));
  typedef Choice<sizeof(T) == sizeof(int32_t), int32_t, int64_t> Index __attribute__((vector_size(kBytes)));
};
using Vector = VectorOf<float>::Type;
constexpr size_t kWidth = kVectorBytes / sizeof(float);

// ---- Vectors of f32 that hold f16 or bf16 numbers -------------------------------------------------------------------

/// One number for each element of a Vector.
typedef uint32_t WordVector __attribute__((vector_size(kVectorBytes)));
typedef uint16_t ShortVector __attribute__((vector_size(kVectorBytes / 2)));

// Conversions. GCC takes vectors apart for __builtin_convertvector between 16 and 32 bits, and warns of undefined
// values in the functions of AVX-512 that have no mask.
#if defined(__AVX512F__)
constexpr __mmask16 kAll = 0xffff;
TSL_FN WordVector to_words(ShortVector x) { return (WordVector)_mm512_maskz_cvtepu16_epi32(kAll, (__m256i)x); }
TSL_FN ShortVector lower_halves(WordVector x) { return (ShortVector)_mm512_maskz_cvtepi32_epi16(kAll, (__m512i)x); }
TSL_FN Vector widened(math::Half, ShortVector bits) { return (Vector)_mm512_maskz_cvtph_ps(kAll, (__m256i)bits); }
TSL_FN ShortVector narrowed(math::Half, Vector x) {
  return (ShortVector)_mm512_maskz_cvtps_ph(kAll, (__m512)x, _MM_FROUND_TO_NEAREST_INT);
}
#elif defined(__F16C__) && defined(__AVX2__)
TSL_FN WordVector to_words(ShortVector x) { return (WordVector)_mm256_cvtepu16_epi32((__m128i)x); }
TSL_FN ShortVector lower_halves(WordVector x) {  // of words below 2^16
  return (ShortVector)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
}
TSL_FN Vector widened(math::Half, ShortVector bits) { return (Vector)_mm256_cvtph_ps((__m128i)bits); }
TSL_FN ShortVector narrowed(math::Half, Vector x) {
  return (ShortVector)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
}
#else
TSL_FN WordVector to_words(ShortVector x) { return __builtin_convertvector(x, WordVector); }
TSL_FN ShortVector lower_halves(WordVector x) { return __builtin_convertvector(x, ShortVector); }
TSL_FN Vector widened(math::Half, ShortVector bits) {
  Vector x;
  for (size_t i = 0; i < kWidth; ++i) x[i] = math::widen(math::Half{bits[i]});
  return x;
}
TSL_FN ShortVector narrowed(math::Half, Vector x) {
  ShortVector bits;
  for (size_t i = 0; i < kWidth; ++i) bits[i] = math::narrow<math::Half>(x[i]).bits;
  return bits;
}
#endif

/// Rounds the bits to those of bf16, in the upper half of each word; the lower half is left over.
TSL_FN WordVector round_upper_half(Vector x) {
  const WordVector bits = (WordVector)x;
  return x != x ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
}
TSL_FN Vector widened(math::BFloat16, ShortVector bits) { return (Vector)(to_words(bits) << 16); }
TSL_FN ShortVector narrowed(math::BFloat16, Vector x) { return lower_halves(round_upper_half(x) >> 16); }

/// Loads a vector of elements; f16 and bf16 become f32.
template <class V = Vector> TSL_FN V load_widened(const float* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V = VectorOf<double>::Type> TSL_FN V load_widened(const double* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V = Vector, int kExponent> TSL_FN V load_widened(const math::Short<kExponent>* p) {
  ShortVector bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return widened(math::Short<kExponent>(), bits);
}
template <class V, class T> TSL_FN void store_vector(T* p, V v) { __builtin_memcpy(p, &v, sizeof v); }

// ---- Reductions -----------------------------------------------------------------------------------------------------

// Each op combines scalars and vectors alike. Its neutral element, as right operand, changes no value, so it can fill
// unused lanes.
struct Sum {
  template <class V> static V combine(V a, V b) { return a + b; }
  template <class T> static T neutral() { return T(-0.0); }
};
struct Prod {
  template <class V> static V combine(V a, V b) { return a * b; }
  template <class T> static T neutral() { return T(1); }
};
struct Max {  // as s_maximum; two selects, since AVX-512 compares into masks, and GCC turns those into vectors for an |
  template <class V> static V combine(V a, V b) { return a >= b ? a : (a != a ? a : b); }
  template <class T> static T neutral() { return -math::infinity<T>(); }
};
struct Min {
  template <class V> static V combine(V a, V b) { return a <= b ? a : (a != a ? a : b); }
  template <class T> static T neutral() { return math::infinity<T>(); }
};

/// kLanes accumulators: the first lanes of the reduction order, if a row has no more elements.
template <class T, size_t kLanes = kReduceLanes> struct Lanes {
  using Vector = typename VectorOf<T, kLanes>::Type;
  using Index = typename VectorOf<T, kLanes>::Index;
  static constexpr size_t kWidth = sizeof(Vector) / sizeof(T), kCount = kLanes / kWidth;
  Vector v[kCount];

  template <class In> static Lanes load(const In* p) {
    Lanes lanes;
    _Pragma("GCC unroll 32") for (size_t k = 0; k < kCount; ++k) lanes.v[k] = load_widened<Vector>(p + k * kWidth);
    return lanes;
  }
  template <class R> void take(const Lanes& other) {
    _Pragma("GCC unroll 32") for (size_t k = 0; k < kCount; ++k) v[k] = R::combine(v[k], other.v[k]);
  }
};

template <class Index, int... kLane> TSL_FN Index lane_numbers(std::integer_sequence<int, kLane...>) {
  return Index{kLane...};
}

/// Copies the end of a tensor, which is rare.
[[gnu::noinline]] inline void copy_end(void* to, const void* from, size_t bytes) { __builtin_memcpy(to, from, bytes); }

/// Loads `count` elements, fewer than a vector has, then neutral ones. `readable` elements may be read.
template <class R, class T, size_t kLanes, class In>
typename Lanes<T, kLanes>::Vector load_part(const In* p, size_t count, size_t readable) {
  using Vector = typename Lanes<T, kLanes>::Vector;
  constexpr int width = Lanes<T, kLanes>::kWidth;
  In copy[width] = {};
  if (readable < static_cast<size_t>(width)) {
    copy_end(copy, p, count * sizeof(In));
    p = copy;
  }
  const Vector v = load_widened<Vector>(p), neutral = R::template neutral<T>() - Vector{};
  const auto numbers = lane_numbers<typename Lanes<T, kLanes>::Index>(std::make_integer_sequence<int, width>());
  return numbers < static_cast<int>(count) ? v : neutral;
}

/// Loads the first `count` <= kLanes elements, then neutral ones. `readable` elements may be read.
template <class R, class T, size_t kLanes, class In>
Lanes<T, kLanes> load_some(const In* p, size_t count, size_t readable) {
  using Vector = typename Lanes<T, kLanes>::Vector;
  Lanes<T, kLanes> lanes;
  _Pragma("GCC unroll 32") for (size_t k = 0; k < lanes.kCount; ++k) {
    const size_t at = k * lanes.kWidth;
    if (at + lanes.kWidth <= count) lanes.v[k] = load_widened<Vector>(p + at);
    else if (at < count) lanes.v[k] = load_part<R, T, kLanes>(p + at, count - at, readable - at);
    else lanes.v[k] = R::template neutral<T>() - Vector{};
  }
  return lanes;
}

/// Folds vectors in halves until one is left.
template <class R, class T, size_t kLanes> typename Lanes<T, kLanes>::Vector fold_to_vector(Lanes<T, kLanes> lanes) {
  _Pragma("GCC unroll 8") for (size_t half = Lanes<T, kLanes>::kCount / 2; half >= 1; half /= 2) {
    _Pragma("GCC unroll 32") for (size_t k = 0; k < half; ++k) lanes.v[k] = R::combine(lanes.v[k], lanes.v[k + half]);
  }
  return lanes.v[0];
}

/// Combines the halves of each group of 2 * kHalf lanes. The results are groups of kHalf lanes: those of a, then of b.
template <class R, size_t kHalf, class V, size_t... kLane> V fold_pair(V a, V b, std::index_sequence<kLane...>) {
  return R::combine(__builtin_shufflevector(a, b, (kLane + kLane / kHalf * kHalf)...),
                    __builtin_shufflevector(a, b, (kLane + kLane / kHalf * kHalf + kHalf)...));
}

/// Folds the lanes of each of 2 * kHalf vectors in halves: lane i of the result is that of vector i.
template <class R, size_t kHalf, class V> V fold_each(const V* v) {
  constexpr std::make_index_sequence<sizeof(V) / sizeof(v[0][0])> lanes;
  V folded[kHalf];
  _Pragma("GCC unroll 16") for (size_t i = 0; i < kHalf; ++i) folded[i] =
      fold_pair<R, kHalf>(v[2 * i], v[2 * i + 1], lanes);
  if constexpr (kHalf == 1) return folded[0];
  else return fold_each<R, kHalf / 2>(folded);
}

/// Folds the lanes of a vector in halves.
template <class R, class T, class V> T fold(V v) {
  constexpr size_t width = sizeof(V) / sizeof(T);
  constexpr std::make_index_sequence<width> all;
  if constexpr (width > 8) v = fold_pair<R, 8>(v, v, all);
  if constexpr (width > 4) v = fold_pair<R, 4>(v, v, all);
  if constexpr (width > 2) v = fold_pair<R, 2>(v, v, all);
  return fold_pair<R, 1>(v, v, all)[0];
}

/// Combines n <= kReduceBlock elements into the first lanes, of T; `readable` >= n elements may be read. kFew: lanes
/// that hold all elements if n < kReduceLanes.
template <class R, class T, size_t kFew, class In>
typename Lanes<T, kFew>::Vector reduce_to_vector(const In* v, size_t n, size_t readable) {
  if (kFew < kReduceLanes || n < kReduceLanes) return fold_to_vector<R, T>(load_some<R, T, kFew>(v, n, readable));
  auto lanes = Lanes<T, kFew>::load(v);
  size_t i = kReduceLanes;
  for (; i + kReduceLanes <= n; i += kReduceLanes) lanes.template take<R>(Lanes<T, kFew>::load(v + i));
  if (i < n) lanes.template take<R>(load_some<R, T, kFew>(v + i, n - i, readable - i));
  return fold_to_vector<R, T>(lanes);
}

/// Reduces n <= kReduceBlock elements to a T; `readable` >= n elements may be read.
template <class R, class T, class In> T reduce_block(const In* v, size_t n, size_t readable) {
  constexpr size_t kFew = 32;
  if (n <= kFew) return fold<R, T>(reduce_to_vector<R, T, kFew>(v, n, readable));
  return fold<R, T>(reduce_to_vector<R, T, kReduceLanes>(v, n, readable));
}

/// Reduces n >= 1 elements: combines the results of consecutive spans, each a power of kReduceBlock long. `block`
/// reduces a block of the row that starts at an index, `over_results` reduces those results.
template <class T, class Block, class OverResults>
[[gnu::noinline]] T reduce_blocks(Block block, OverResults over_results, size_t begin, size_t n) {
  if (n <= kReduceBlock) return block(begin, n);
  size_t span = kReduceBlock;
  while (span * kReduceBlock < n) span *= kReduceBlock;
  T partial[kReduceBlock];
  size_t count = 0;
  for (size_t at = 0; at < n; at += span)
    partial[count++] = reduce_blocks<T>(block, over_results, begin + at, least(span, n - at));
  return over_results(partial, count);
}

}  // namespace
}  // namespace tsl::cpu::TSL_ISA
