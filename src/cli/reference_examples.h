// The examples of the reference.
#pragma once

#include <span>

#include "value/builtin.h"

namespace tsl {

/// Returns the files of docs/reference/, which cmake/Embed.cmake embeds: a line `# NAME` begins the examples of a
/// name.
std::span<const LibrarySource> reference_examples();

}  // namespace tsl
