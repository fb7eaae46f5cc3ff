#include "report/recording.h"

#include <algorithm>

namespace tsl::report {

std::string to_string(const Location& location) {
  return location.valid() ? location.file + ":" + std::to_string(location.line) : "?";
}

RegionRecord& Recording::region(const void* declaration) {
  const auto found = std::find_if(regions.begin(), regions.end(),
                                  [&](const RegionRecord& each) { return each.declaration == declaration; });
  if (found != regions.end()) return *found;
  RegionRecord& record = regions.emplace_back();
  record.declaration = declaration;
  return record;
}

}  // namespace tsl::report
