// Combines floats in the reduction order of kernels.h, with vectors of the machine's width.
#pragma once

#include <utility>

#include "backend/cpu/isa/kernel_base.h"

namespace tsl::cpu::TSL_ISA {
namespace {

#if defined(__AVX512F__)
constexpr size_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr size_t kVectorBytes = 32;
#else
constexpr size_t kVectorBytes = 16;
#endif

template <class T> struct VectorOf;
template <> struct VectorOf<float> { typedef float Type __attribute__((vector_size(kVectorBytes))); };
template <> struct VectorOf<double> { typedef double Type __attribute__((vector_size(kVectorBytes))); };

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
struct Max {  // as s_maximum
  template <class V> static V combine(V a, V b) { return ((a >= b) | (a != a)) ? a : b; }
  template <class T> static T neutral() { return -math::infinity<T>(); }
};
struct Min {
  template <class V> static V combine(V a, V b) { return ((a <= b) | (a != a)) ? a : b; }
  template <class T> static T neutral() { return math::infinity<T>(); }
};

/// kLanes accumulators: the first lanes of the reduction order, if a row has no more elements.
template <class T, size_t kLanes = kReduceLanes> struct Lanes {
  using Vector = typename VectorOf<T>::Type;
  static constexpr size_t kWidth = kVectorBytes / sizeof(T), kCount = kLanes / kWidth;
  Vector v[kCount];

  static Lanes load(const T* p) {
    Lanes lanes;
    for (size_t k = 0; k < kCount; ++k) __builtin_memcpy(&lanes.v[k], p + k * kWidth, kVectorBytes);
    return lanes;
  }
  template <class R> void take(const Lanes& other) {
    for (size_t k = 0; k < kCount; ++k) v[k] = R::combine(v[k], other.v[k]);
  }
};

/// Loads the first `count` <= kLanes elements, then neutral ones. `readable` elements may be read.
template <class R, size_t kLanes, class T> Lanes<T, kLanes> load_some(const T* p, size_t count, size_t readable) {
  T padded[kLanes];
  if (readable >= kLanes) {
    for (size_t l = 0; l < kLanes; ++l) padded[l] = math::select(l < count, p[l], R::template neutral<T>());
  } else {
    for (size_t l = 0; l < kLanes; ++l) padded[l] = R::template neutral<T>();
    for (size_t l = 0; l < count; ++l) padded[l] = p[l];
  }
  return Lanes<T, kLanes>::load(padded);
}

/// Combines lane l with lane l + kHalf, for l < kHalf; the other lanes become undefined.
template <class R, size_t kHalf, class V, size_t... kLane> V fold_vector(V v, std::index_sequence<kLane...>) {
  return R::combine(v, __builtin_shufflevector(v, v, ((kLane + kHalf) % sizeof...(kLane))...));
}

/// Folds the lanes in halves.
template <class R, class T, size_t kLanes> T fold(Lanes<T, kLanes> lanes) {
  constexpr size_t width = Lanes<T>::kWidth;
  constexpr std::make_index_sequence<width> all;
  for (size_t half = Lanes<T, kLanes>::kCount / 2; half >= 1; half /= 2) {
    for (size_t k = 0; k < half; ++k) lanes.v[k] = R::combine(lanes.v[k], lanes.v[k + half]);
  }
  if constexpr (width > 8) lanes.v[0] = fold_vector<R, 8>(lanes.v[0], all);
  if constexpr (width > 4) lanes.v[0] = fold_vector<R, 4>(lanes.v[0], all);
  if constexpr (width > 2) lanes.v[0] = fold_vector<R, 2>(lanes.v[0], all);
  return fold_vector<R, 1>(lanes.v[0], all)[0];
}

/// Reduces n <= kReduceBlock elements; `readable` >= n elements may be read.
template <class R, class T> T reduce_block(const T* v, size_t n, size_t readable) {
  constexpr size_t kFew = 32;
  if (n <= kFew) return fold<R>(load_some<R, kFew>(v, n, readable));
  if (n < kReduceLanes) return fold<R>(load_some<R, kReduceLanes>(v, n, readable));
  Lanes<T> lanes = Lanes<T>::load(v);
  size_t i = kReduceLanes;
  for (; i + kReduceLanes <= n; i += kReduceLanes) lanes.template take<R>(Lanes<T>::load(v + i));
  if (i < n) lanes.template take<R>(load_some<R, kReduceLanes>(v + i, n - i, readable - i));
  return fold<R>(lanes);
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
