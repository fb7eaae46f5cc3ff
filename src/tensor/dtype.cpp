#include "tensor/dtype.h"

#include <algorithm>
#include <iterator>

namespace tsl {

namespace {
constexpr std::string_view kNames[] = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
static_assert(std::size(kNames) == kDTypeCount && static_cast<int>(DType::f64) + 1 == kDTypeCount);
static_assert(std::all_of(std::begin(kDTypeSize), std::end(kDTypeSize),
                          [](size_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }),
              "copies and fills of the host have loops for elements of these sizes");
}  // namespace

std::string_view name_of(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  // Neither 16-bit float type contains the other's values.
  if ((a == DType::f16 && b == DType::bf16) || (a == DType::bf16 && b == DType::f16)) return DType::f32;
  // u8 and a signed type: the smallest signed type that contains both.
  if ((a == DType::u8 && b == DType::i8) || (a == DType::i8 && b == DType::u8)) return DType::i16;
  return a > b ? a : b;
}

DType accumulator_of(DType d) {
  if (d == DType::f64) return DType::f64;
  return is_float(d) ? DType::f32 : DType::i64;
}

}  // namespace tsl
