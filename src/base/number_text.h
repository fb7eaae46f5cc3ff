// Floats as text that does not differ by processor.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace tsl {

/// Clears the sign of a NaN: what 0/0 gives differs by processor.
inline double without_nan_sign(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

/// The shortest text that reads back as `value`: "0.1", "1", "-inf", "nan".
inline std::string number_text(double value) { return fmt::format("{}", without_nan_sign(value)); }

}  // namespace tsl
