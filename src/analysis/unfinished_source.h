// Reads sources that are being written.
#pragma once

#include <memory>
#include <string>

#include "analysis/names.h"

namespace tsl::analysis {

/// Reads what can be read of a text that may be at fault, or end in the middle of a call or a block: leaves out
/// statements at fault, or closes brackets at its end. Returns null if nothing can be read. `path`: its file, or empty.
std::unique_ptr<ast::Module> read_unfinished(Names& names, const std::string& text, const std::string& path);

}  // namespace tsl::analysis
