// What kernels and the choice between them depend on besides the node.
#pragma once

#include <cstdint>

namespace tsl::cuda {

/// The defaults are those of an H100.
struct DeviceFacts {
  int multiprocessors = 132;
  uint64_t shared_bytes = uint64_t{227} << 10;  // the most that a block may use
  bool has_warp_products = true;                // mma of bf16 too: from compute capability 8.0 on
  bool has_group_products = true;               // wgmma: of compute capability 9.0 alone
  bool has_clusters = true;                     // of blocks: from compute capability 9.0 on
  bool tf32 = false;                            // an option: products may round f32 to 11 bits
};

}  // namespace tsl::cuda
