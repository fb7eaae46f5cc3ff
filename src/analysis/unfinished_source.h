// Reads sources that are being written.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/names.h"

namespace tsl::analysis {

/// Reads what can be read of a text that may be at fault, or end in the middle of a call or a block: leaves out
/// statements at fault, or closes brackets at its end. Returns null if nothing can be read. `path`: its file, or empty.
std::shared_ptr<const ast::Module> read_unfinished(Names& names, const std::string& text, const std::string& path);

/// Returns what closes the brackets that are open at the end of a text.
std::string closing_brackets(std::string_view text);

}  // namespace tsl::analysis
