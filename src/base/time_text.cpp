#include "base/time_text.h"

#include <fmt/format.h>

namespace tsl {

std::string time_text(double seconds) {
  struct TimeUnit {
    double size;
    const char* name;
  };
  for (const TimeUnit& unit : {TimeUnit{1, "s"}, TimeUnit{1e-3, "ms"}, TimeUnit{1e-6, "µs"}}) {
    if (seconds >= unit.size) return fmt::format("{:#.3g} {}", seconds / unit.size, unit.name);
  }
  return fmt::format("{:.0f} ns", seconds * 1e9);
}

}  // namespace tsl
