// Renders a recording for people and for tools: what was compiled, and why as it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/recording.h"

namespace tsl::report {

struct ExplainOptions {
  std::optional<std::vector<const void*>> declarations = {};  // only these regions; none: all
  std::string title = {};                                     // what they belong to: "step"; "": the program
  bool all = false;                                           // everything; else at most a screen for each region
  bool color = false;
  size_t width = 0;  // lines are cut to so many columns; 0: as the limits say
};

/// Returns the declarations of a function's regions: of the function, and of loops in it; none if it has none.
std::vector<const void*> declarations_of(const Recording& recording, const std::string& function);

/// Names the functions that have regions, in the order of their first calls.
std::vector<std::string> functions_of(const Recording& recording);

/// Formats a summary, then each region, the one that took most time first.
std::string explain(const Recording& recording, const ExplainOptions& options);

/// Formats all of it as JSON. docs/explain.md describes the keys. `with_texts`: with sources and code, for the page.
std::string explain_json(const Recording& recording, bool with_texts = false);

/// Describes the tier of a region in one line: "compiled", or why it was interpreted.
std::string tier_of(const RegionRecord& region);

/// Describes what ends a segment: "a host read: `float(loss)` (train.tsl:15) reads the result of sum (train.tsl:14)".
std::string end_of(const SegmentRecord& segment);

/// Describes the launch facts of a kernel that are known: "registers 32, occupancy 75 %"; "" if none is.
std::string facts_of(const KernelRecord& kernel);

/// Whether a kernel's time is more than twice the prediction, or less than half of it.
bool differs(const Prediction& prediction);

/// Describes an op with its line: "sum (train.tsl:14)".
std::string to_string(const OpRecord& op);

}  // namespace tsl::report
