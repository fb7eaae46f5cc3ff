// Finds the files of modules.
#pragma once

#include <string>

#include "analysis/names.h"

namespace tsl {

/// Returns the path without links and "..", also of a file that does not exist.
std::string canonical_path(const std::string& path);

/// Returns the module for `import path`: a file beside those in `folder`, or one in the folders of TSL_PATH, if
/// `may_use_environment`. Throws Failure (io) that lists the places searched.
ModuleSource find_module_file(const std::string& path, bool is_file, const std::string& folder,
                              bool may_use_environment);

}  // namespace tsl
