#include "tensor/dtype.h"

#include <array>

namespace tsl {

namespace {
struct Info {
  std::string_view name;
  size_t size;
};
constexpr std::array<Info, kDTypeCount> kInfo = {{{"bool", 1}, {"u8", 1}, {"i8", 1}, {"i16", 2}, {"i32", 4},
                                                  {"i64", 8}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}}};
}  // namespace

size_t size_of(DType dtype) { return kInfo[static_cast<size_t>(dtype)].size; }

std::string_view name_of(DType dtype) { return kInfo[static_cast<size_t>(dtype)].name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  // Neither of the half types holds the other's values.
  if ((a == DType::f16 && b == DType::bf16) || (a == DType::bf16 && b == DType::f16)) return DType::f32;
  // u8 beside a signed type: the smallest signed type that holds both.
  if ((a == DType::u8 && b == DType::i8) || (a == DType::i8 && b == DType::u8)) return DType::i16;
  return a > b ? a : b;
}

DType accumulator_of(DType d) {
  if (d == DType::f64) return DType::f64;
  return is_float(d) ? DType::f32 : DType::i64;
}

}  // namespace tsl
