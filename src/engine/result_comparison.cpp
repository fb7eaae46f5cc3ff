#include "engine/result_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/elements.h"

namespace tsl {

namespace {

/// The greatest relative difference that rounding in another order explains; 0: none is allowed.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-12;
    case DType::f32: return 1e-5;
    case DType::f16: return 4e-3;
    case DType::bf16: return 3e-2;
    case DType::boolean:
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: return 0;
  }
  return 0;
}

/// Returns the difference of two elements, relative to numbers above 1.
double difference_of(double expected, double found) {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return 0;
  const double difference = std::abs(expected - found) / std::max(1.0, std::abs(expected));
  return std::isnan(difference) ? HUGE_VAL : difference;
}

}  // namespace

report::ResultComparison compare_results(const graph::Plan& plan, std::span<const std::byte> expected,
                                         std::span<const std::byte> found) {
  report::ResultComparison out;
  size_t at = 0;
  for (const graph::PlanOutput& output : plan.outputs) {
    const size_t size = size_of(output.dtype);
    const auto count = static_cast<size_t>(element_count(output.layout.shape).hint());
    for (size_t i = 0; i < count; ++i, at += size) {
      ++out.elements;
      if (std::memcmp(&expected[at], &found[at], size) == 0) continue;
      ++out.different;
      const double difference = difference_of(load_element(output.dtype, &expected[at]).as_real(),
                                              load_element(output.dtype, &found[at]).as_real());
      out.largest = std::max(out.largest, difference);
      out.is_close &= difference <= tolerance_of(output.dtype);
    }
  }
  return out;
}

}  // namespace tsl
