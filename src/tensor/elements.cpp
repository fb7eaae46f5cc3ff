#include "tensor/elements.h"

#include <cstring>
#include <type_traits>

#include "tensor/bodies/scalar_math.h"

namespace tsl {

namespace {

template <class T> ScalarBits bits_from(T value) {
  ScalarBits bits;
  std::memcpy(bits.bytes, &value, sizeof value);
  return bits;
}

template <class T> ScalarBits cast_bits(Scalar value) {
  switch (value.type) {
    case ScalarType::boolean: return bits_from(math::s_cast<T>(value.boolean));
    case ScalarType::integer: return bits_from(math::s_cast<T>(value.integer));
    case ScalarType::real: return bits_from(math::s_cast<T>(value.real));
  }
  return {};
}

template <class T> T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T> Scalar number_at(const std::byte* at) {
  if constexpr (std::is_same_v<T, bool>) return Scalar::of(read_as<uint8_t>(at) != 0);
  else if constexpr (std::is_integral_v<T>) return Scalar::of(static_cast<int64_t>(read_as<T>(at)));
  else if constexpr (std::is_floating_point_v<T>) return Scalar::of(static_cast<double>(read_as<T>(at)));
  else return Scalar::of(static_cast<double>(math::widen(read_as<T>(at))));
}

}  // namespace

ScalarBits to_bits(Scalar value, DType dtype) {
  using namespace math;
  switch (dtype) {
#define TSL_DTYPE(id, name, element, ...) \
  case DType::id:                         \
    return cast_bits<element>(value);
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
  }
  return {};
}

Scalar load_element(DType dtype, const std::byte* at) {
  using namespace math;
  switch (dtype) {
#define TSL_DTYPE(id, name, element, ...) \
  case DType::id:                         \
    return number_at<element>(at);
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
  }
  return {};
}

void store_element(DType dtype, std::byte* at, Scalar value) {
  std::memcpy(at, to_bits(value, dtype).bytes, size_of(dtype));
}

float f16_to_float(uint16_t bits) { return math::widen(math::Half{bits}); }
float bf16_to_float(uint16_t bits) { return math::widen(math::BFloat16{bits}); }
uint16_t float_to_f16(float value) { return math::half_bits(value); }
uint16_t float_to_bf16(float value) { return math::bfloat16_bits(value); }

}  // namespace tsl
