#include "tensor/dtype.h"

#include <algorithm>

#include "base/error_names.h"

namespace tsl {

namespace {

static_assert(std::all_of(std::begin(kDTypes), std::end(kDTypes),
                          [](const DTypeRow& row) {
                            return row.bytes == 1 || row.bytes == 2 || row.bytes == 4 || row.bytes == 8;
                          }),
              "copies and fills of the host have loops for elements of these sizes");

/// Returns the signed integer of twice the size, or nothing beyond 64 bits.
std::optional<DType> wider_signed_integer(DType dtype) {
  const auto* const row = std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const DTypeRow& wider) {
    return wider.kind == DTypeKind::signed_integer && wider.bytes == 2 * size_of(dtype);
  });
  return row == std::end(kDTypes) ? std::nullopt : std::optional(row->dtype);
}

}  // namespace

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_half(a) && is_half(b)) return DType::f32;  // neither contains the other's values
  if (a == DType::boolean || b == DType::boolean) return a == DType::boolean ? b : a;
  const DType wider = size_of(a) < size_of(b) ? b : a, narrower = wider == a ? b : a;
  const bool holds_both = size_of(wider) > size_of(narrower) && (is_signed(wider) || !is_signed(narrower));
  if (holds_both) return wider;
  if (const std::optional<DType> both = wider_signed_integer(wider))
    return *both;  // u8 and i8: neither holds the other
  fail_with(ErrorName::wrong_dtype,
            fmt::format("{} and {} have no common dtype: no integer holds the values of both", name_of(a), name_of(b)),
            {fmt::format("`{}(x)` converts one of them", name_of(is_signed(a) ? a : b))});
}

}  // namespace tsl
