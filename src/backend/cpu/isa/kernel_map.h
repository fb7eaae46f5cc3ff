// The loops of elementwise kernels.
#pragma once

#include "backend/cpu/isa/kernel_base.h"
#include "tensor/promotion.h"

namespace tsl::cpu::TSL_ISA {
namespace {

// Defines a function object for each op, around its scalar body.
#define TSL_UNARY(name, ...)                                                \
  struct Fn_##name {                                                        \
    static constexpr Op kOp = Op::name;                                     \
    template <class T> static auto apply(T x) { return math::s_##name(x); } \
  };
#define TSL_BINARY(name, ...)                                                       \
  struct Fn_##name {                                                                \
    static constexpr Op kOp = Op::name;                                             \
    template <class T> static auto apply(T a, T b) { return math::s_##name(a, b); } \
  };
#define TSL_TERNARY(name, ...)
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY

/// Ops whose scalar body has a branch that is rarely taken: `apply` computes the operands for which are_easy holds, in
/// one loop; the full body is called again for the others.
/// Elements of up to kBytes bytes.
template <class Fn> struct EasyPart { static constexpr size_t kBytes = 0; };
struct NearAngle {
  static constexpr size_t kBytes = sizeof(double);
  template <class T> static bool is_easy(T x) { return math::is_near_angle(x); }
};
template <> struct EasyPart<Fn_sin> : NearAngle {
  template <class T> static T apply(T x) { return math::sin_near(x); }
};
template <> struct EasyPart<Fn_cos> : NearAngle {
  template <class T> static T apply(T x) { return math::cos_near(x); }
};
template <> struct EasyPart<Fn_tan> : NearAngle {
  template <class T> static T apply(T x) { return math::tan_near(x); }
};
struct EasyDivision {
  static constexpr size_t kBytes = sizeof(float);
  static bool is_easy(float a, float b) { return math::divides_easily(a, b); }
};
template <> struct EasyPart<Fn_floordiv> : EasyDivision {
  static float apply(float a, float b) { return math::divide_floor_easily(a, b).quotient; }
};
template <> struct EasyPart<Fn_mod> : EasyDivision {
  static float apply(float a, float b) { return math::divide_floor_easily(a, b).rest; }
};

/// The loop for such ops; uses a buffer, since `out` may be one of the operands.
template <class Fn, class T, class... In> bool map_easy_first(T* out, size_t n, const In*... in) {
  T buffer[kBuffer];
  for (size_t begin = 0; begin < n; begin += kBuffer) {
    size_t count = least(kBuffer, n - begin);
    typename math::FloatTraits<T>::Bits hard = 0;
    for (size_t i = 0; i < count; ++i) {
      buffer[i] = EasyPart<Fn>::apply(in[begin + i]...);
      hard |= !EasyPart<Fn>::is_easy(in[begin + i]...);
    }
    for (size_t i = 0; hard && i < count; ++i) {
      if (!EasyPart<Fn>::is_easy(in[begin + i]...)) buffer[i] = Fn::apply(in[begin + i]...);
    }
    __builtin_memcpy(out + begin, buffer, count * sizeof(T));
  }
  return true;
}
template <class Fn, class T> constexpr bool kHasEasyPart = math::kIsFloat<T> && sizeof(T) <= EasyPart<Fn>::kBytes;

// These loops are not inlined: inlined into map_short(), they would not vectorise.
template <class Fn, class T> [[gnu::noinline]] bool map_unary(void* out, const void* const* in, size_t n) {
  using Out = decltype(Fn::apply(T()));
  const T* x = static_cast<const T*>(in[0]);
  Out* y = static_cast<Out*>(out);
  if constexpr (kHasEasyPart<Fn, T>) {
    return map_easy_first<Fn>(y, n, x);
  } else {
    TSL_VECTORIZE
    for (size_t i = 0; i < n; ++i) y[i] = Fn::apply(x[i]);
    return true;
  }
}

template <class Fn, class T> [[gnu::noinline]] bool map_binary(void* out, const void* const* in, size_t n) {
  using Out = decltype(Fn::apply(T(), T()));
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  Out* y = static_cast<Out*>(out);
  constexpr bool divides = Fn::kOp == Op::floordiv || Fn::kOp == Op::mod;
  if constexpr (divides && math::kIsInteger<T>) {
    bool ok = true;
    for (size_t i = 0; i < n; ++i) {
      ok &= !math::divides_by_zero(b[i]);
      y[i] = Fn::apply(a[i], b[i]);
    }
    return ok;
  } else if constexpr (kHasEasyPart<Fn, T>) {
    return map_easy_first<Fn>(y, n, a, b);
  } else {
    TSL_VECTORIZE
    for (size_t i = 0; i < n; ++i) y[i] = Fn::apply(a[i], b[i]);
    return true;
  }
}

/// Runs the f32 kernel on f16 or bf16 operands; the result is In, or bool.
template <MapKernel kKernel, int kArity, class In, class Out>
bool map_short(void* out, const void* const* in, size_t n) {
  float wide[kArity][kBuffer];
  const void* operands[kArity];
  for (int k = 0; k < kArity; ++k) operands[k] = wide[k];
  for (size_t begin = 0; begin < n; begin += kBuffer) {
    size_t count = least(kBuffer, n - begin);
    for (int k = 0; k < kArity; ++k) widen(wide[k], static_cast<const In*>(in[k]) + begin, count);
    Out* y = static_cast<Out*>(out) + begin;
    if constexpr (math::kIsBool<Out>) {
      kKernel(y, operands, count);
    } else {
      kKernel(wide[0], operands, count);
      narrow(y, wide[0], count);
    }
  }
  return true;
}

template <class Fn, DTypeRule kRule, int kArity, DType kDType> constexpr MapKernel map_kernel() {
  if constexpr (!is_defined(Fn::kOp, kRule, kDType)) {
    return nullptr;
  } else if constexpr (is_half(kDType)) {
    using T = Element<kDType>;
    if constexpr (Fn::kOp == Op::nextafter) {
      return map_binary<Fn, T>;  // the neighbours of a half are not those of its f32
    } else if constexpr (kArity == 1) {
      constexpr bool asks = math::kIsBool<decltype(Fn::apply(0.0f))>;
      return map_short<map_unary<Fn, float>, 1, T, Choice<asks, bool, T>>;
    } else {
      constexpr bool asks = math::kIsBool<decltype(Fn::apply(0.0f, 0.0f))>;
      return map_short<map_binary<Fn, float>, 2, T, Choice<asks, bool, T>>;
    }
  } else if constexpr (kArity == 1) {
    return map_unary<Fn, Element<kDType>>;
  } else {
    return map_binary<Fn, Element<kDType>>;
  }
}

template <class Fn, DTypeRule kRule, int kArity> void add_map_kernels(KernelTable& table) {
  for_each_dtype([&](auto dtype) {
    table.map[static_cast<int>(Fn::kOp)][index_of(dtype.value)] = map_kernel<Fn, kRule, kArity, dtype.value>();
  });
}

}  // namespace
}  // namespace tsl::cpu::TSL_ISA
