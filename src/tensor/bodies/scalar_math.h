// The scalar bodies of the elementwise ops, part 1: number formats, casts, and the ops that are exact.
// Part 2 is scalar_double.h (functions of f64), part 3 scalar_functions.h (exp, log, gelu, …), part 4 scalar_angles.h,
// part 5 scalar_special.h (gamma, …); random_math.h uses parts 2 and 3.
//
// These files are plain C++17 that includes nothing but each other, because the same text is compiled three times
// over: into the CPU kernels of every instruction set, into the host's arithmetic, and in front of every CUDA kernel
// (in this order, `using namespace tsl::math`). So whatever runs an op gives the same bits, but for what is TSL_NATIVE.
// What that asks of the code:
//   - no contraction (a * b + c rounds twice; compile with -ffp-contract=off or --fmad=false) and no fast-math;
//   - selects instead of branches wherever a loop over the function shall vectorise;
//   - nothing undefined: integers wrap around, casts saturate.
// f16 and bf16 convert to float, compute, and round once.
#pragma once

#ifndef TSL_FN
#if defined(__CUDACC__)
#define TSL_FN __device__ __forceinline__
#define TSL_RARE_FN __device__ __noinline__  // keeps what is hardly ever run out of the way of what is
#else
#define TSL_FN static inline __attribute__((always_inline))
#define TSL_RARE_FN TSL_FN
#endif
#endif

/// The platform's own function, for f64: GCC's and Clang's builtins are libm, and so is CUDA's global namespace.
#if defined(__CUDACC__)
#define TSL_LIBM(name) ::name
#define TSL_BIT_CAST(To, x) bit_cast_to<To>(x)
#else
#define TSL_LIBM(name) __builtin_##name
#define TSL_BIT_CAST(To, x) __builtin_bit_cast(To, x)
#endif

/// Kernels use the GPU's own approximations of 1/x and 2^x (half the instructions) unless they shall give the CPU's
/// bits.
#if defined(__CUDACC__) && !defined(TSL_PORTABLE)
#define TSL_NATIVE
#endif

namespace tsl::math {

// ---- Bits ----------------------------------------------------------------------------------------------------

using Word = unsigned int;              // 32 bits
using DoubleWord = unsigned long long;  // 64 bits

#if defined(__CUDACC__)
template <class To, class From> TSL_FN To bit_cast_to(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
#endif

TSL_FN Word bits_of(float x) { return TSL_BIT_CAST(Word, x); }
TSL_FN DoubleWord bits_of(double x) { return TSL_BIT_CAST(DoubleWord, x); }
TSL_FN float as_float(Word bits) { return TSL_BIT_CAST(float, bits); }
TSL_FN double as_double(DoubleWord bits) { return TSL_BIT_CAST(double, bits); }

/// c ? a : b with both sides already computed, so that it compiles to a blend.
template <class T> TSL_FN T select(bool c, T a, T b) { return c ? a : b; }

#if defined(__CUDACC__)
// A compiler computes a function of a number that it knows with arithmetic of its own, which differs in the last bits
// from the GPU's estimates and from CUDA's library. It knows no number that comes from memory, so constants that the
// arguments pass through are there: reading them costs no instruction (f64: two).
__constant__ float kOpaqueLog2ERest = 0x1.4ae0c0p-26f;  // 1 / log(2), less its upper bits
__constant__ float kOpaqueTwoLog2E = 0x1.715476p1f;
__constant__ float kOpaqueHalfLog2E = 0x1.715476p-1f;
__constant__ float kOpaqueHalfLog2ERest = 0x1.4ae0c0p-27f;
__constant__ float kOpaqueGeluOffset = 1.75f;
__constant__ DoubleWord kOpaqueNoBits = 0;
TSL_FN double opaque(double x) { return as_double(bits_of(x) | kOpaqueNoBits); }
#else
TSL_FN double opaque(double x) { return x; }
#endif

/// a * b + c, rounded once: where a body asks for it in so many words. Every machine gives the same bits, those without
/// the instruction slowly.
TSL_FN float fused(float a, float b, float c) { return TSL_LIBM(fmaf)(a, b, c); }
TSL_FN double fused(double a, double b, double c) { return TSL_LIBM(fma)(a, b, c); }

#if defined(__CUDACC__)
/// Within 1 ulp for x in [2^-126, 2^126].
TSL_FN float native_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// 1 / sqrt(x), within 2^-22.4 of it for normal x; infinity for 0.
TSL_FN float native_rsqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// 2^x, within 2^-22.5 of it.
TSL_FN float native_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

/// 1 / x for x in [2^-60, 2^60]. (An estimate and one step by its remainder round correctly; how the division of CUDA
/// works, less its care for other numbers.)
TSL_FN float reciprocal(float x) {
#if defined(__CUDACC__)
  const float y = native_reciprocal(x);
  return fused(y, fused(-x, y, 1.0f), y);
#else
  return 1 / x;
#endif
}

template <class F> struct FloatTraits;
template <> struct FloatTraits<float> {
  using Bits = Word;
  static constexpr Bits kSign = 0x80000000u, kInfinity = 0x7f800000u;
  static constexpr float kWhole = 0x1p23f;  // from here on every value is whole
};
template <> struct FloatTraits<double> {
  using Bits = DoubleWord;
  static constexpr Bits kSign = 0x8000000000000000ull, kInfinity = 0x7ff0000000000000ull;
  static constexpr double kWhole = 0x1p52;
};
TSL_FN float from_bits(Word bits) { return as_float(bits); }
TSL_FN double from_bits(DoubleWord bits) { return as_double(bits); }
template <class F> TSL_FN F infinity() { return from_bits(FloatTraits<F>::kInfinity); }
template <class F> TSL_FN F not_a_number() {
  return from_bits(FloatTraits<F>::kInfinity | FloatTraits<F>::kInfinity >> 1);
}
template <class F> TSL_FN F magnitude(F x) { return from_bits(bits_of(x) & ~FloatTraits<F>::kSign); }
template <class F> TSL_FN F copy_sign(F x, F sign) {
  return from_bits((bits_of(x) & ~FloatTraits<F>::kSign) | (bits_of(sign) & FloatTraits<F>::kSign));
}
#if defined(__CUDACC__)
// The same, but for the sign of NaN, in a form that costs nothing in front of other instructions, and one instruction.
TSL_FN float magnitude(float x) { return ::fabsf(x); }
TSL_FN float copy_sign(float x, float sign) {
  float y;
  asm("copysign.f32 %0, %1, %2;" : "=f"(y) : "f"(sign), "f"(x));
  return y;
}
#endif
template <class F> TSL_FN bool sign_bit(F x) { return (bits_of(x) & FloatTraits<F>::kSign) != 0; }
/// x within [lo, hi]; NaN stays.
template <class F> TSL_FN F clamp(F x, F lo, F hi) {
  x = select(x < lo, lo, x);
  return select(x > hi, hi, x);
}
#if defined(__CUDACC__)
/// The result of an instruction before sm_80, which ignores a NaN: NaN, with the bits of later processors, if one is.
TSL_FN float nan_if_either(float a, float b, float y) { return select(a == a && b == b, y, as_float(0x7fffffffu)); }
/// The greater one; NaN if one is. 0 is greater than -0.
TSL_FN float number_max(float a, float b) {
  float y;
  asm("max.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return nan_if_either(a, b, y);
}
TSL_FN float number_min(float a, float b) {
  float y;
  asm("min.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return nan_if_either(a, b, y);
}
#if __CUDA_ARCH__ >= 800
/// The same in one instruction.
TSL_FN float native_max(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
TSL_FN float native_min(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
#else
TSL_FN float native_max(float a, float b) { return number_max(a, b); }
TSL_FN float native_min(float a, float b) { return number_min(a, b); }
#endif
TSL_FN float clamp(float x, float lo, float hi) { return native_min(native_max(x, lo), hi); }
#endif
/// The lesser one; x if it is NaN.
TSL_FN float at_most(float x, float hi) {
#if defined(__CUDACC__)
  return native_min(x, hi);
#else
  return select(x > hi, hi, x);
#endif
}
/// The square root of 0 and of x in [2^-60, 2^60]; NaN for negative x. (As reciprocal(): how that of CUDA works.)
TSL_FN float square_root(float x) {
#if defined(__CUDACC__)
  const float y = at_most(native_rsqrt(x), 0x1p60f), root = x * y;
  return fused(fused(-root, root, x), 0.5f * y, root);
#else
  return __builtin_sqrtf(x);
#endif
}

// ---- f16 and bf16 --------------------------------------------------------------------------------------------

/// A 16-bit float, held as bits. (CUDA converts by the hardware, for which all NaNs are one; else the bits are the
/// same.)
template <int kExponentBits> struct Short {
  static constexpr int kExponent = kExponentBits;
  unsigned short bits;
};
using Half = Short<5>;
using BFloat16 = Short<8>;

TSL_FN float widen(BFloat16 x) { return as_float(static_cast<Word>(x.bits) << 16); }
TSL_FN float widen(Half x) {
#if defined(__CUDACC__)
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#else
  Word magnitude = static_cast<Word>(x.bits & 0x7fff) << 13;
  // Normal numbers: move the exponent's bias from 15 to 127; infinity and NaN: to 255.
  Word normal = magnitude + (112u << 23);
  normal += select(magnitude >= 0x0f800000u, 112u << 23, 0u);
  normal |= select(magnitude > 0x0f800000u, 0x00400000u, 0u);  // NaN becomes quiet, as it does in hardware
  // Subnormal ones: put the fraction below 2^-14 and let a subtraction normalise it.
  float subnormal = as_float(magnitude + (113u << 23)) - 0x1p-14f;
  Word result = select(magnitude < 0x00800000u, bits_of(subnormal), normal);
  return as_float(result | static_cast<Word>(x.bits & 0x8000) << 16);
#endif
}

TSL_FN unsigned short bfloat16_bits(float x) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  Word bits = bits_of(x);
  Word rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  Word nan = bits >> 16 | 0x40u;
  return static_cast<unsigned short>(select((bits & 0x7fffffffu) > 0x7f800000u, nan, rounded));
#endif
}
TSL_FN unsigned short half_bits(float x) {
#if defined(__CUDACC__)
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  Word sign = bits_of(x) >> 16 & 0x8000u, bits = bits_of(x) & 0x7fffffffu;
  Word normal = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1)) >> 13;
  // Below 2^-14: adding 0.5 lines up the fraction so that the addition itself rounds.
  Word subnormal = bits_of(as_float(bits) + 0.5f) - 0x3f000000u;
  Word result = select(bits < 0x38800000u, subnormal, normal);
  result = select(bits >= 0x477ff000u, 0x7c00u, result);
  result = select(bits > 0x7f800000u, 0x7e00u | (bits >> 13 & 0x1ffu), result);
  return static_cast<unsigned short>(sign | result);
#endif
}
/// Rounds to nearest, ties to even.
template <class S> TSL_FN S narrow(float x) {
  if constexpr (S::kExponent == Half::kExponent) return {half_bits(x)};
  else return {bfloat16_bits(x)};
}

/// Behind each body s_<name> for float: the same op for f16 and bf16.
#define TSL_SHORT_UNARY(name) \
  template <int E> TSL_FN Short<E> name(Short<E> x) { return narrow<Short<E>>(name(widen(x))); }
#define TSL_SHORT_BINARY(name) \
  template <int E> TSL_FN Short<E> name(Short<E> a, Short<E> b) { return narrow<Short<E>>(name(widen(a), widen(b))); }
#define TSL_SHORT_PREDICATE(name) \
  template <int E> TSL_FN bool name(Short<E> x) { return name(widen(x)); }
#define TSL_SHORT_COMPARE(name) \
  template <int E> TSL_FN bool name(Short<E> a, Short<E> b) { return name(widen(a), widen(b)); }

// ---- Kinds of types ------------------------------------------------------------------------------------------

template <class T> constexpr bool kIsFloat = false;
template <> inline constexpr bool kIsFloat<float> = true;
template <> inline constexpr bool kIsFloat<double> = true;
template <class T> constexpr bool kIsShort = false;
template <int E> inline constexpr bool kIsShort<Short<E>> = true;
template <class T> constexpr bool kIsBool = false;
template <> inline constexpr bool kIsBool<bool> = true;
template <class T> constexpr bool kIsInteger = !kIsFloat<T> && !kIsShort<T> && !kIsBool<T>;
template <class T> constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

/// The unsigned type in which integers of T compute, so that they wrap around.
template <bool kWide> struct UnsignedOf { using Type = Word; };
template <> struct UnsignedOf<true> { using Type = DoubleWord; };
template <class T> using Unsigned = typename UnsignedOf<(sizeof(T) > 4)>::Type;

template <class I> struct IntegerLimits {
  static constexpr I kMin = kIsSigned<I> ? static_cast<I>(1ull << (sizeof(I) * 8 - 1)) : static_cast<I>(0);
  static constexpr I kMax = static_cast<I>(~static_cast<DoubleWord>(kMin));
};

// ---- Casts ---------------------------------------------------------------------------------------------------

/// Floats to integers truncate and saturate; NaN becomes 0. Integers to integers wrap around. To bool: whether it
/// is not zero. f64 and integers reach f16 and bf16 through f32.
template <class To, class From> TSL_FN To s_cast(From x) {
  if constexpr (kIsShort<From>) {
    return s_cast<To>(widen(x));
  } else if constexpr (kIsShort<To>) {
    return narrow<To>(static_cast<float>(x));
  } else if constexpr (kIsBool<To>) {
    return x != From(0);
  } else if constexpr (kIsInteger<To> && kIsFloat<From>) {
    constexpr From lo = static_cast<From>(IntegerLimits<To>::kMin);
    constexpr From beyond = static_cast<From>(IntegerLimits<To>::kMax / 2 + 1) * From(2);
    From safe = select(x >= lo && x < beyond, x, From(0));
    To result = static_cast<To>(safe);
    result = select(x >= beyond, IntegerLimits<To>::kMax, result);
    return select(x < lo, IntegerLimits<To>::kMin, result);
  } else {
    return static_cast<To>(x);
  }
}

// ---- Arithmetic ----------------------------------------------------------------------------------------------

template <class T> TSL_FN T s_neg(T x) {
  if constexpr (kIsFloat<T>) return -x;
  else return static_cast<T>(0 - static_cast<Unsigned<T>>(x));
}
TSL_SHORT_UNARY(s_neg)

template <class T> TSL_FN T s_abs(T x) {
  if constexpr (kIsFloat<T>) return magnitude(x);
  else return select(x < T(0), s_neg(x), x);
}
TSL_SHORT_UNARY(s_abs)

template <class T> TSL_FN T s_sign(T x) { return select(x > T(0), T(1), select(x < T(0), static_cast<T>(-1), x)); }
TSL_SHORT_UNARY(s_sign)

template <class T> TSL_FN T s_relu(T x) { return select(x <= T(0), T(0), x); }
TSL_SHORT_UNARY(s_relu)

template <class T> TSL_FN T s_add(T a, T b) {
  if constexpr (kIsFloat<T>) return a + b;
  else if constexpr (kIsBool<T>) return a | b;
  else return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}

template <class T> TSL_FN T s_sub(T a, T b) {
  if constexpr (kIsFloat<T>) return a - b;
  else return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}

#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
// The same bits in one instruction, which takes two elements side by side: f32 has at least two bits more than twice
// theirs, so it makes no difference to round to f32 first (Figueroa, "When is double rounding innocuous?", 1995).
TSL_FN Half s_add(Half a, Half b) {
  Half sum;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(sum.bits) : "h"(a.bits), "h"(b.bits));
  return sum;
}
TSL_FN Half s_sub(Half a, Half b) {
  Half difference;
  asm("sub.rn.f16 %0, %1, %2;" : "=h"(difference.bits) : "h"(a.bits), "h"(b.bits));
  return difference;
}
TSL_FN BFloat16 fused(BFloat16 a, BFloat16 b, BFloat16 c) {
  BFloat16 d;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(d.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return d;
}
TSL_FN BFloat16 s_add(BFloat16 a, BFloat16 b) { return fused(a, BFloat16{0x3f80}, b); }  // a * 1 + b
TSL_FN BFloat16 s_sub(BFloat16 a, BFloat16 b) { return fused(b, BFloat16{0xbf80}, a); }  // b * -1 + a
#else
TSL_SHORT_BINARY(s_add)
TSL_SHORT_BINARY(s_sub)
#endif

template <class T> TSL_FN T s_mul(T a, T b) {
  if constexpr (kIsFloat<T>) return a * b;
  else if constexpr (kIsBool<T>) return a & b;
  else return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
}
TSL_SHORT_BINARY(s_mul)

template <class T> TSL_FN T s_square(T x) { return s_mul(x, x); }
TSL_SHORT_UNARY(s_square)

template <class T> TSL_FN T s_div(T a, T b) { return a / b; }
TSL_SHORT_BINARY(s_div)

// Of equal operands (0 and -0) the first; of two NaNs too.
template <class T> TSL_FN T s_maximum(T a, T b) { return select((a >= b) | (a != a), a, b); }
template <class T> TSL_FN T s_minimum(T a, T b) { return select((a <= b) | (a != a), a, b); }
TSL_SHORT_BINARY(s_maximum)
TSL_SHORT_BINARY(s_minimum)

// ---- Rounding: integers stay ---------------------------------------------------------------------------------

template <class T> TSL_FN T s_round(T x) {
  if constexpr (kIsFloat<T>) {
    T size = magnitude(x);
    T whole = (size + FloatTraits<T>::kWhole) - FloatTraits<T>::kWhole;  // rounds halves to even
    return select(size < FloatTraits<T>::kWhole, copy_sign(whole, x), x);
  } else {
    return x;
  }
}
template <class T> TSL_FN T s_floor(T x) {
  if constexpr (kIsFloat<T>) {
    T nearest = s_round(x);
    return select(nearest > x, nearest - T(1), nearest);
  } else {
    return x;
  }
}
template <class T> TSL_FN T s_ceil(T x) {
  if constexpr (kIsFloat<T>) {
    T nearest = s_round(x);
    return copy_sign(select(nearest < x, nearest + T(1), nearest), x);
  } else {
    return x;
  }
}
template <class T> TSL_FN T s_trunc(T x) {
  if constexpr (kIsFloat<T>) return copy_sign(s_floor(magnitude(x)), x);
  else return x;
}
TSL_SHORT_UNARY(s_round)
TSL_SHORT_UNARY(s_floor)
TSL_SHORT_UNARY(s_ceil)
TSL_SHORT_UNARY(s_trunc)

// ---- Questions and comparisons -------------------------------------------------------------------------------

template <class T> TSL_FN bool s_isnan(T x) { return x != x; }
template <class T> TSL_FN bool s_isinf(T x) { return magnitude(x) == infinity<T>(); }
template <class T> TSL_FN bool s_isfinite(T x) { return magnitude(x) < infinity<T>(); }
// The sign of NaN is that of the processor that made it: x86 gives inf - inf a minus, GPUs none. So it does not count.
template <class T> TSL_FN bool s_signbit(T x) { return sign_bit(x) && x == x; }
template <class T> TSL_FN bool s_logical_not(T x) { return x == T(0); }
TSL_SHORT_PREDICATE(s_isnan)
TSL_SHORT_PREDICATE(s_isinf)
TSL_SHORT_PREDICATE(s_isfinite)
TSL_SHORT_PREDICATE(s_signbit)
TSL_SHORT_PREDICATE(s_logical_not)

template <class T> TSL_FN bool s_eq(T a, T b) { return a == b; }
template <class T> TSL_FN bool s_ne(T a, T b) { return a != b; }
template <class T> TSL_FN bool s_lt(T a, T b) { return a < b; }
template <class T> TSL_FN bool s_le(T a, T b) { return a <= b; }
template <class T> TSL_FN bool s_gt(T a, T b) { return a > b; }
template <class T> TSL_FN bool s_ge(T a, T b) { return a >= b; }
TSL_SHORT_COMPARE(s_eq)
TSL_SHORT_COMPARE(s_ne)
TSL_SHORT_COMPARE(s_lt)
TSL_SHORT_COMPARE(s_le)
TSL_SHORT_COMPARE(s_gt)
TSL_SHORT_COMPARE(s_ge)

template <class T> TSL_FN T s_where(bool c, T a, T b) { return c ? a : b; }

// ---- Bits, of bool and integers ------------------------------------------------------------------------------

template <class T> TSL_FN T s_bit_and(T a, T b) { return static_cast<T>(a & b); }
template <class T> TSL_FN T s_bit_or(T a, T b) { return static_cast<T>(a | b); }
template <class T> TSL_FN T s_bit_xor(T a, T b) { return static_cast<T>(a ^ b); }
template <class T> TSL_FN T s_bit_not(T x) {
  if constexpr (kIsBool<T>) return !x;
  else return static_cast<T>(~x);
}

// NumPy's shifts: a count that is negative, or not below the bits, shifts all of them out.
template <class T> TSL_FN T s_left_shift(T a, T b) {
  constexpr Unsigned<T> kBits = sizeof(T) * 8;
  const Unsigned<T> count = static_cast<Unsigned<T>>(b);
  const T shifted = static_cast<T>(static_cast<Unsigned<T>>(a) << (count & (kBits - 1)));
  return select(count < kBits, shifted, static_cast<T>(0));
}
template <class T> TSL_FN T s_right_shift(T a, T b) {
  constexpr Unsigned<T> kBits = sizeof(T) * 8;
  const Unsigned<T> count = static_cast<Unsigned<T>>(b);
  const T shifted = static_cast<T>(a >> (count & (kBits - 1)));
  const T sign = kIsSigned<T> ? static_cast<T>(a >> (kBits - 1)) : static_cast<T>(0);
  return select(count < kBits, shifted, sign);
}

// ---- Neighbours ----------------------------------------------------------------------------------------------

/// The bits of the float next to a towards b: those of a float of one sign are in the order of its size.
template <class Bits, class F> TSL_FN Bits bits_towards(Bits bits, F a, F b, Bits sign) {
  const Bits least = static_cast<Bits>(select(b < 0, sign, Bits(0)) | 1);
  const Bits next = static_cast<Bits>(select((b > a) == (a > 0), bits + 1, bits - 1));
  return select(a == 0, least, next);
}
template <class F> TSL_FN F s_nextafter(F a, F b) {
  const F next = from_bits(bits_towards(bits_of(a), a, b, FloatTraits<F>::kSign));
  return select(a == b, b, select((a != a) | (b != b), a + b, next));
}
template <int E> TSL_FN Short<E> s_nextafter(Short<E> a, Short<E> b) {
  const float from = widen(a), to = widen(b);
  const Short<E> next = {bits_towards<unsigned short>(a.bits, from, to, 0x8000)};
  return select(from == to, b, select((from != from) | (to != to), narrow<Short<E>>(from + to), next));
}

// ---- Division that rounds down -------------------------------------------------------------------------------

/// Whether floordiv and mod fail: only integers do. (Their result is then 0.)
template <class T> TSL_FN bool divides_by_zero(T b) {
  if constexpr (kIsInteger<T>) return b == 0;
  else return false;
}

/// How floats divide, as Python and NumPy do: `quotient` is whole and `rest` has the sign of b.
template <class F> struct Division { F quotient, rest; };

/// Makes a division round down that may have rounded either way, less than one off.
template <class F> TSL_FN Division<F> rounded_down(F quotient, F rest, F b) {
  bool above = (rest != 0) & ((rest < 0) != (b < 0));
  return {select(above, quotient - 1, quotient), select(rest == 0, copy_sign(rest, b), select(above, rest + b, rest))};
}

/// The exact remainder, with a's sign.
TSL_FN float exact_remainder(float a, float b) { return TSL_LIBM(fmodf)(a, b); }
TSL_FN double exact_remainder(double a, double b) { return TSL_LIBM(fmod)(a, b); }

TSL_FN Division<double> divide_floor(double a, double b) {
  double truncated = exact_remainder(a, b);
  Division<double> division = rounded_down((a - truncated) / b, truncated, b);
  double whole = s_round(division.quotient);  // it is whole but for rounding
  whole = select(whole == 0, copy_sign(whole, a / b), whole);
  return {select(b == 0, a / b, whole), division.rest};
}

/// Whether divide_floor_easily() holds: the whole part of the rounded a / b is exact, or one too large in size; then
/// the remainder is a float.
TSL_FN bool divides_easily(float a, float b) { return magnitude(a / b) < 0x1p24f; }
TSL_FN Division<float> divide_floor_easily(float a, float b) {
  float ratio = a / b, whole = static_cast<float>(static_cast<int>(select(divides_easily(a, b), ratio, 0.0f)));
  Division<float> division = rounded_down(whole, select(whole == 0, a, fused(-whole, b, a)), b);
  return {copy_sign(division.quotient, ratio), division.rest};
}
/// The quotient is the nearest float to the whole number: a / b, rounded, and the whole distance from there.
TSL_RARE_FN Division<float> divide_floor_far(float a, float b) {
  float ratio = a / b, truncated = exact_remainder(a, b);
  Division<float> division = rounded_down((fused(-ratio, b, a) - truncated) / b, truncated, b);
  bool overflows = s_isinf(ratio), is_finite = s_isfinite(a);
  bool is_infinite = (b == 0) | (overflows & is_finite);
  return {select(is_infinite, ratio, ratio + s_round(division.quotient)), division.rest};
}
TSL_FN Division<float> divide_floor(float a, float b) {
  return divides_easily(a, b) ? divide_floor_easily(a, b) : divide_floor_far(a, b);
}

template <class T> TSL_FN T s_floordiv(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return static_cast<T>(divide_floor(a, b).quotient);
  } else {
    if (b == 0) return 0;
    if (kIsSigned<T> && b == static_cast<T>(-1)) return s_neg(a);  // the least integer wraps around
    T quotient = static_cast<T>(a / b);
    return static_cast<T>(quotient - ((a % b != 0) & ((a < 0) != (b < 0))));
  }
}
template <class T> TSL_FN T s_mod(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return static_cast<T>(divide_floor(a, b).rest);
  } else {
    if (b == 0 || (kIsSigned<T> && b == static_cast<T>(-1))) return 0;
    T rest = static_cast<T>(a % b);
    return static_cast<T>(rest + select((rest != 0) & ((rest < 0) != (b < 0)), b, T(0)));
  }
}
TSL_SHORT_BINARY(s_floordiv)
TSL_SHORT_BINARY(s_mod)

}  // namespace tsl::math
