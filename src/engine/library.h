// What the language has without any program: the builtins, and the code that comes with them.
#pragma once

#include "value/builtin.h"

namespace tsl {

/// Returns the sources of stdlib/, which cmake/Embed.cmake embeds in the program.
std::span<const LibrarySource> embedded_sources();

/// Returns the builtins and the sources of TSL.
const Library& standard_library();

}  // namespace tsl
