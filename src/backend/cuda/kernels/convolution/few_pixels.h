// Convolutions of few output pixels by kernels of our own, on tensor cores: cuDNN leaves most of the GPU idle.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "backend/cuda/kernels/convolution/few_pixels_arguments.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "backend/cuda/source/device_facts.h"
#include "graph/graph.h"

namespace tsl::cuda {

/// A kernel whose only argument is few_pixels::Arguments.
struct FewPixels {
  CudaKernel kernel;
  few_pixels::Arguments arguments;  // without addresses and what depends on them
  std::array<unsigned, 3> grid = {1, 1, 1};
  uint64_t shared_bytes = 0;
  bool can_filters_be_wide = false;  // by the extents
};

/// Returns the kernel of a node by its dtype, extents and geometry; none: there is none, or another one is faster.
std::optional<FewPixels> few_pixels_of(const graph::Node& node, const DeviceFacts& facts);
/// Says why there is none, or another one is faster; "": there is one.
std::string_view few_pixels_refusal(const graph::Node& node, const DeviceFacts& facts);

/// The text in front of these kernels.
std::string_view few_pixels_templates();

}  // namespace tsl::cuda
