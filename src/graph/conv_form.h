// Finds the convolution that a node computes.
#pragma once

#include "graph/graph.h"
#include "tensor/rows/convolution.h"

namespace tsl::graph {

/// Returns the convolution that a node computes, or is a gradient of.
inline ConvForm conv_form_of(const Node& node) {
  return {node.op, node.args[0].layout.shape, node.args[1].layout.shape, node.shape, *node.attrs.conv};
}

}  // namespace tsl::graph
