// The folder for what is worth keeping between runs: compiled kernels, measured speeds.
#pragma once

#include <string>

namespace tsl {

/// Returns $TSL_CACHE_DIR, else $XDG_CACHE_HOME/tsl, else ~/.cache/tsl; "" if none of these variables is set.
std::string default_cache_folder();

/// Returns the file with what the last run has shown of a source's lines, for editors; "" if there is no such folder.
std::string editor_notes_path(const std::string& source);

}  // namespace tsl
