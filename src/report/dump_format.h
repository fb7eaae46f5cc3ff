// The names in a dump folder.
#pragma once

#include <string>

namespace tsl::report {

inline constexpr const char* kVersionFile = "version.txt";  // its first line marks a dump; the rest is the cache key
inline constexpr const char* kReportFile = "explain.txt";
inline constexpr const char* kGuardsFile = "guards.txt";  // each folder of a specialisation has it
inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kMagic = "tsl dump, format";
inline constexpr int kFormat = 2;  // grows when names or contents of files change

/// Whether a folder is a dump, of any format.
bool is_dump(const std::string& folder);

}  // namespace tsl::report
