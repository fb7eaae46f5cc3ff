// The kernels of attention as text, with how they are launched; needs no device.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/source/cuda_kernel.h"
#include "graph/graph.h"

namespace tsl::cuda {

/// What kernels of attention depend on beside the node.
struct AttentionTarget {
  bool has_warp_products = true;                // of bf16 too: from compute capability 8.0 on
  uint64_t shared_bytes = uint64_t{227} << 10;  // the most that a block may use
  bool has_group_products = true;               // wgmma: of compute capability 9.0 alone
  int multiprocessors = 132;
  bool has_clusters = true;  // of blocks: from compute capability 9.0 on
};

/// A kernel whose only argument is attention::Arguments; CudaKernel::blocks and threads_x say how it is launched.
struct AttentionPass {
  CudaKernel kernel;
  uint64_t shared_bytes = 0;
  uint64_t workspace_bytes = 0;  // the passes of a node share the workspace
};

/// Returns the kernels of a node of Op::attention or Op::attention_grad, in order; none: there are none for its sizes.
std::vector<AttentionPass> attention_passes(const graph::Node& node, const AttentionTarget& target);

/// The text in front of these kernels.
std::string_view attention_plain_templates();
std::string_view attention_warp_templates();
std::string_view attention_group_templates();

}  // namespace tsl::cuda
