// The profile as JSON, for tools.
#pragma once

#include <string>

#include "report/profile_table.h"

namespace tsl::report {

/// Formats all rows, regions and unused results as JSON. docs/profiling.md describes the keys.
std::string profile_json(const ProfileView& view);

}  // namespace tsl::report
