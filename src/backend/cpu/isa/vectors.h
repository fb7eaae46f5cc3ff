// Vectors of f32 or f64, as wide as the instruction set has them.
#pragma once

#include "backend/cpu/isa/kernel_base.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tsl::cpu::TSL_ISA {

namespace {

template <class T> struct VectorOf;
template <> struct VectorOf<float> { typedef float Type __attribute__((vector_size(kVectorBytes))); };
template <> struct VectorOf<double> { typedef double Type __attribute__((vector_size(kVectorBytes))); };
template <class T> using Vector = typename VectorOf<T>::Type;
template <class T> struct UnalignedOf { typedef Vector<T> Type __attribute__((aligned(alignof(T)), may_alias)); };
template <class T> constexpr size_t kLanes = kVectorBytes / sizeof(T);
template <class T> constexpr size_t kSumLanes = kSumBytes / sizeof(T);

template <class T> Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename UnalignedOf<T>::Type*>(from);
}
template <class T> void store(T* to, Vector<T> v) { *reinterpret_cast<typename UnalignedOf<T>::Type*>(to) = v; }
template <class T> Vector<T> all_of(T value) { return value - Vector<T>{}; }

#if defined(__AVX2__) || (defined(__ARM_NEON) && defined(__aarch64__))
constexpr bool kIsFused = true;  // whether multiply_add() rounds once
#else
constexpr bool kIsFused = false;
#endif

/// Returns a * b + c, rounded once where the machine can.
template <class V> V multiply_add(V a, V b, V c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(a[0]) == sizeof(float)) return _mm512_fmadd_ps(a, b, c);
  if constexpr (sizeof(a[0]) == sizeof(double)) return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__)
  if constexpr (sizeof(a[0]) == sizeof(float)) return _mm256_fmadd_ps(a, b, c);
  if constexpr (sizeof(a[0]) == sizeof(double)) return _mm256_fmadd_pd(a, b, c);
#elif defined(__ARM_NEON) && defined(__aarch64__)
  if constexpr (sizeof(a[0]) == sizeof(float)) return vfmaq_f32(c, a, b);
  if constexpr (sizeof(a[0]) == sizeof(double)) return vfmaq_f64(c, a, b);
#else
  return a * b + c;
#endif
}

/// Returns the sum of a vector's elements: its halves are added until one element is left.
template <class V> auto sum_of_halves(V v) {
  constexpr int kCount = sizeof(v) / sizeof(v[0]);
  if constexpr (kCount == 16) {
    v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    v += __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3);
  } else if constexpr (kCount == 8) {
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7);
    v += __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3);
  } else if constexpr (kCount == 4) {
    v += __builtin_shufflevector(v, v, 2, 3, 2, 3);
  }
  return v[0] + v[1];
}

}  // namespace

}  // namespace tsl::cpu::TSL_ISA
