#include "engine/result_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/elements.h"

namespace tsl {

namespace {

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
      const double difference =
          difference_of(real_element(output.dtype, &expected[at]), real_element(output.dtype, &found[at]));
      out.largest = std::max(out.largest, difference);
      out.is_close &= difference <= row_of(output.dtype).rounding;
    }
  }
  return out;
}

}  // namespace tsl
