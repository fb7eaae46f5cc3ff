// The names in a dump folder.
#pragma once

#include <string>
#include <string_view>

namespace tsl::report {

inline constexpr const char* kVersionFile = "version.txt";  // its first line marks a dump; the rest is the cache key
inline constexpr const char* kReportFile = "explain.txt";
inline constexpr const char* kGuardsFile = "guards.txt";  // each folder of a specialisation has it
inline constexpr const char* kGraphStage = "02-graph";    // the stage with the recorded graph
inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kMagic = "tsl dump, format";
inline constexpr const char* kOriginal = "// original ";  // begins a line of a .cu file: a hash of what follows it
inline constexpr int kFormat = 4;                         // grows when names or contents of files change

/// Returns the line that tells whether the text that follows it is as the dump wrote it.
std::string original_line(std::string_view text);
/// Whether a .cu file is not as the dump wrote it.
bool is_edited(std::string_view file);

/// Whether a folder is a dump, of any format.
bool is_dump(const std::string& folder);

/// Returns a text of a dump without line numbers, "train.tsl:_" for "train.tsl:12" and "step:_#0" for "step:12#0": what
/// stays when lines are inserted before a function.
std::string without_lines(std::string_view text);

}  // namespace tsl::report
