// The folder for what is worth keeping between runs: compiled kernels, measured speeds.
#pragma once

#include <string>

namespace tsl {

/// Returns $TSL_CACHE_DIR, else $XDG_CACHE_HOME/tsl, else ~/.cache/tsl; "" if none of these variables is set.
std::string default_cache_folder();

}  // namespace tsl
