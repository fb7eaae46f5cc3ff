// Which convolutions cuDNN computes.
#pragma once

#include "graph/graph.h"

namespace tsl::cuda {

/// Whether cuDNN can describe a convolution, and TSL gives it to cuDNN: it pads both sides of an axis alike, counts in
/// 32 bits, and is slow for groups of few channels. A function of the node alone.
bool can_cudnn_describe(const graph::Node& node);

}  // namespace tsl::cuda
