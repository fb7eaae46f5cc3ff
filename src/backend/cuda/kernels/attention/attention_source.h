// The kernels of attention as text, with how they are launched; needs no device.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/cuda/source/cuda_kernel.h"
#include "backend/cuda/source/device_facts.h"
#include "graph/graph.h"

namespace tsl::cuda {

/// A kernel whose only argument is attention::Arguments; CudaKernel::blocks and threads_x say how it is launched.
struct AttentionPass {
  CudaKernel kernel;
  uint64_t shared_bytes = 0;
  uint64_t workspace_bytes = 0;  // the passes of a node share the workspace
};

/// A way to compute attention or its gradients: a row of the GPU's table of kernels.
struct AttentionWay {
  std::string_view name;
  /// As KernelRow::refusal.
  std::string_view (*refusal)(const graph::Node& node, const DeviceFacts& facts);
  /// Returns the kernels of a node that is not refused, in order; none: they need more blocks than a launch has.
  std::vector<AttentionPass> (*passes)(const graph::Node& node, const DeviceFacts& facts);
};
/// Returns all ways, the fastest first.
std::span<const AttentionWay> attention_ways();
/// Returns the kernels of the first way that a node has; none: it has none.
std::vector<AttentionPass> attention_passes(const graph::Node& node, const DeviceFacts& facts);

/// The text in front of these kernels.
std::string_view attention_plain_templates();
std::string_view attention_warp_templates();
std::string_view attention_group_templates();

}  // namespace tsl::cuda
