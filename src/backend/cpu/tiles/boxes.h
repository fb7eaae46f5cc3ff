// Divides kernels that choose between parts into kernels of boxes, in which no choice is left.
#pragma once

#include <vector>

#include "graph/kernel.h"

namespace tsl::cpu {

/// Divides the loops of a pointwise kernel into boxes within or outside of each part, and returns the kernel of each.
/// Returns none if the kernel has no parts, is too small, or its parts are no boxes.
std::vector<graph::Kernel> divide_into_boxes(const graph::Kernel& kernel);

}  // namespace tsl::cpu
