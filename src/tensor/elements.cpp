#include "tensor/elements.h"

#include <cstring>
#include <type_traits>

#include "base/error_names.h"
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

/// The element as the number of its kind, of the greatest size: a bool, int64_t, uint64_t or double.
template <class T> auto wide_at(const std::byte* at) {
  if constexpr (std::is_same_v<T, bool>) return read_as<uint8_t>(at) != 0;
  else if constexpr (std::is_unsigned_v<T>) return uint64_t{read_as<T>(at)};
  else if constexpr (std::is_integral_v<T>) return int64_t{read_as<T>(at)};
  else if constexpr (std::is_floating_point_v<T>) return double{read_as<T>(at)};
  else return double{math::widen(read_as<T>(at))};
}

/// Calls use(element) with the element at an address, as wide_at() gives it.
template <class Use> auto with_element(DType dtype, const std::byte* at, Use use) {
  using namespace math;
  switch (dtype) {
#define TSL_DTYPE(id, name, element, ...) \
  case DType::id:                         \
    return use(wide_at<element>(at));
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
  }
  __builtin_unreachable();
}

Scalar host_number(bool value) { return Scalar::of(value); }
Scalar host_number(int64_t value) { return Scalar::of(value); }
Scalar host_number(double value) { return Scalar::of(value); }
Scalar host_number(uint64_t value) {
  if (value <= static_cast<uint64_t>(INT64_MAX)) return Scalar::of(static_cast<int64_t>(value));
  fail_with(ErrorName::number_out_of_range, fmt::format("the element {} does not fit an int, which has 64 bits", value),
            {"`f64(x)` makes a float of it", "`print(x)` shows all digits"});
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
  return with_element(dtype, at, [](auto value) { return host_number(value); });
}

void normalise_bools(std::byte* data, size_t count) {
  for (size_t i = 0; i < count; ++i) data[i] = std::byte{data[i] != std::byte{0}};
}

double real_element(DType dtype, const std::byte* at) {
  return with_element(dtype, at, [](auto value) { return static_cast<double>(value); });
}

std::string exact_element_text(DType dtype, const std::byte* at) {
  return with_element(dtype, at, [](auto value) { return fmt::format("{}", value); });
}

void store_element(DType dtype, std::byte* at, Scalar value) {
  std::memcpy(at, to_bits(value, dtype).bytes, size_of(dtype));
}

float f16_to_float(uint16_t bits) { return math::widen(math::Half{bits}); }
float bf16_to_float(uint16_t bits) { return math::widen(math::BFloat16{bits}); }
uint16_t float_to_f16(float value) { return math::half_bits(value); }
uint16_t float_to_bf16(float value) { return math::bfloat16_bits(value); }

}  // namespace tsl
