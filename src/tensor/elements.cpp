#include "tensor/elements.h"

#include <cstring>

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

}  // namespace

ScalarBits to_bits(Scalar value, DType dtype) {
  switch (dtype) {
    case DType::boolean: return cast_bits<bool>(value);
    case DType::u8: return cast_bits<uint8_t>(value);
    case DType::i8: return cast_bits<int8_t>(value);
    case DType::i16: return cast_bits<int16_t>(value);
    case DType::i32: return cast_bits<int32_t>(value);
    case DType::i64: return cast_bits<int64_t>(value);
    case DType::f16: return cast_bits<math::Half>(value);
    case DType::bf16: return cast_bits<math::BFloat16>(value);
    case DType::f32: return cast_bits<float>(value);
    case DType::f64: return cast_bits<double>(value);
  }
  return {};
}

Scalar load_element(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::boolean: return Scalar::of(read_as<uint8_t>(at) != 0);
    case DType::u8: return Scalar::of(static_cast<int64_t>(read_as<uint8_t>(at)));
    case DType::i8: return Scalar::of(static_cast<int64_t>(read_as<int8_t>(at)));
    case DType::i16: return Scalar::of(static_cast<int64_t>(read_as<int16_t>(at)));
    case DType::i32: return Scalar::of(static_cast<int64_t>(read_as<int32_t>(at)));
    case DType::i64: return Scalar::of(read_as<int64_t>(at));
    case DType::f16: return Scalar::of(static_cast<double>(f16_to_float(read_as<uint16_t>(at))));
    case DType::bf16: return Scalar::of(static_cast<double>(bf16_to_float(read_as<uint16_t>(at))));
    case DType::f32: return Scalar::of(static_cast<double>(read_as<float>(at)));
    case DType::f64: return Scalar::of(read_as<double>(at));
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
