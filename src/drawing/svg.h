// Writes drawings as SVG, which follows the reader's theme: light or dark.
#pragma once

#include <string>

#include "drawing/drawing.h"

namespace tsl {

/// Returns the text of an SVG file.
std::string svg_text(const Drawing& drawing);

}  // namespace tsl
