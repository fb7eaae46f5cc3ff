// Finds the convolution that a node computes.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/graph.h"
#include "tensor/rows/convolution.h"

namespace tsl::graph {

/// Returns the convolution that a node computes, or is a gradient of.
inline ConvForm conv_form_of(const Node& node) {
  return {node.op, node.args[0].layout.shape, node.args[1].layout.shape, node.shape, *node.attrs.conv};
}

/// Whether the operands and the result of a convolution have elements, and their indices fit in 32 bits.
inline bool is_conv_of_ints(const Node& node) {
  const auto fits = [](const Shape& shape) {
    const std::optional<int64_t> count = count_if_representable(shape);
    return count && *count > 0 && *count <= INT32_MAX;
  };
  return fits(node.args[0].layout.shape) && fits(node.args[1].layout.shape) && fits(node.shape);
}

}  // namespace tsl::graph
