#include "report/recording.h"

namespace tsl::report {

std::string to_string(const Location& location) {
  return location.valid() ? location.file + ":" + std::to_string(location.line) : "?";
}

}  // namespace tsl::report
