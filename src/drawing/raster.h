// Draws drawings as pixels, by cairo.
#pragma once

#include "drawing/drawing.h"

namespace tsl {

/// Returns the pixels, u8 of rows × columns × 3, on white; `scale` of them for each of the drawing's, in both
/// directions. Throws Failure (io) if cairo is not installed.
Tensor draw_pixels(const Drawing& drawing, int scale, Allocator& allocator);

}  // namespace tsl
