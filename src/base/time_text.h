// Times as text.
#pragma once

#include <string>

namespace tsl {

/// Formats a time with three digits: "12.3 µs".
std::string time_text(double seconds);

}  // namespace tsl
