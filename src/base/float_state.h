// The floating-point state of a thread: what arithmetic does besides its operations. Results assume the default one.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tsl {

#if defined(__x86_64__)
using FloatControl = uint32_t;
inline constexpr FloatControl kFloatFlags = 0x3F;       // of exceptions that have happened
inline constexpr FloatControl kDefaultFloats = 0x1F80;  // no traps, rounding to nearest, and denormals
inline FloatControl float_control() { return _mm_getcsr() & ~kFloatFlags; }
inline void set_float_control(FloatControl control) { _mm_setcsr(control | (_mm_getcsr() & kFloatFlags)); }
#elif defined(__aarch64__)
using FloatControl = uint64_t;
inline constexpr FloatControl kDefaultFloats = 0;
inline FloatControl float_control() { return __builtin_aarch64_get_fpcr64(); }
inline void set_float_control(FloatControl control) { __builtin_aarch64_set_fpcr64(control); }
#else
using FloatControl = int;
inline constexpr FloatControl kDefaultFloats = FE_TONEAREST;
inline FloatControl float_control() { return std::fegetround(); }
inline void set_float_control(FloatControl control) { std::fesetround(control); }
#endif

/// Sets the default state.
inline void set_float_state() {
  if (float_control() != kDefaultFloats) set_float_control(kDefaultFloats);
}

/// Sets the default state, and at the end the one before. Takes a nanosecond if that is the same.
class FloatState {
 public:
  FloatState() : before_(float_control()) {
    if (before_ != kDefaultFloats) set_float_control(kDefaultFloats);
  }
  ~FloatState() {
    if (before_ != kDefaultFloats) set_float_control(before_);
  }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
  const FloatControl before_;
};

}  // namespace tsl
