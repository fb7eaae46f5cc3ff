// Finds what is wrong with a source without running it.
#pragma once

#include <string>
#include <vector>

#include "analysis/names.h"
#include "base/error.h"

namespace tsl::analysis {

/// Returns the errors and warnings of a source: its syntax, its names, its calls, its types, and values that it does
/// not use. None has others. `path` is the source's file, or empty.
std::vector<Error> check(Names& names, const std::string& name, const std::string& text, const std::string& path = "");

}  // namespace tsl::analysis
