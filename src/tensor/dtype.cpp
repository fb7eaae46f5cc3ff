#include "tensor/dtype.h"

#include <algorithm>

namespace tsl {

namespace {

static_assert(std::all_of(std::begin(kDTypes), std::end(kDTypes),
                          [](const DTypeRow& row) {
                            return row.bytes == 1 || row.bytes == 2 || row.bytes == 4 || row.bytes == 8;
                          }),
              "copies and fills of the host have loops for elements of these sizes");

DType signed_integer_of(size_t bytes) {
  return std::find_if(std::begin(kDTypes), std::end(kDTypes),
                      [&](const DTypeRow& row) { return row.kind == DTypeKind::signed_integer && row.bytes == bytes; })
      ->dtype;
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
  return holds_both ? wider : signed_integer_of(2 * size_of(wider));  // u8 and i8: neither does
}

}  // namespace tsl
