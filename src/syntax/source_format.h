// Lays out source text anew, for `tsl fmt`.
#pragma once

#include <string>

#include "base/source.h"

namespace tsl {

/// Returns source `id` with normal indentation, spaces and blank lines. All tokens, comments and line breaks of the
/// author are kept, so the tree is the same. Throws Failure as parse() does.
std::string format_source(const SourceMap& sources, uint32_t id);

}  // namespace tsl
