// Tests which convolutions have kernels of few pixels, and that NVRTC compiles these.
#include "backend/cuda/kernels/convolution/few_pixels.h"

#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/op_graphs.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;
using namespace tsl::graph;

namespace {

/// A convolution over two axes, alike along both.
struct Case {
  Shape images, filters;
  int64_t stride = 1, dilation = 1, low = 0, high = 0;
  int64_t groups = 1;

  Graph graph(DType dtype) const {
    return convolution(Op::conv, plain(images, dtype), plain(filters, dtype),
                       {groups, stride, stride, dilation, dilation, low, low, high, high});
  }
  std::optional<FewPixels> kernel(DType dtype, const DeviceFacts& target) const {
    return few_pixels_of(graph(dtype)[2], target);
  }
};

constexpr DeviceFacts kRounding = {.tf32 = true};
const Case kLayer = {.images = {1, 512, 7, 7}, .filters = {512, 512, 3, 3}, .low = 1, .high = 1};

}  // namespace

TEST_CASE("convolutions of few pixels and many channels have kernels of their own") {
  CHECK(kLayer.kernel(DType::f32, kRounding));
  CHECK(kLayer.kernel(DType::bf16, {}));
  CHECK(kLayer.kernel(DType::f16, {}));
  CHECK_FALSE(kLayer.kernel(DType::f32, {}));
  CHECK_FALSE(kLayer.kernel(DType::f64, kRounding));
  CHECK_FALSE(kLayer.kernel(DType::f32, {.has_clusters = false, .tf32 = true}));
  CHECK_FALSE(kLayer.kernel(DType::f32, {.shared_bytes = uint64_t{16} << 10, .tf32 = true}));
  const Case others[] = {{.images = {1, 64, 112, 112}, .filters = {64, 64, 3, 3}},
                         {.images = {1, 3, 30, 30}, .filters = {64, 3, 3, 3}},
                         {.images = {1, 64, 7, 7}, .filters = {64, 64, 5, 5}},
                         {.images = {1, 64, 7, 7}, .filters = {64, 32, 3, 3}, .groups = 2},
                         {.images = {0, 64, 7, 7}, .filters = {64, 64, 3, 3}},
                         {.images = {5, 512, 7, 7}, .filters = {512, 512, 3, 3}, .low = 1, .high = 1},
                         {.images = {1, 640, 14, 14}, .filters = {128, 640, 1, 1}},
                         {.images = {1, 160, 7, 7}, .filters = {960, 160, 1, 1}}};
  for (const Case& other : others) {
    CAPTURE(to_string(other.images), to_string(other.filters));
    CHECK_FALSE(other.kernel(DType::f32, kRounding));
  }
}

TEST_CASE("blocks that share the channels of few pixels fill a GPU") {
  const FewPixels layer = *kLayer.kernel(DType::f32, kRounding);
  CHECK(layer.grid[0] > 1);
  CHECK(layer.grid[0] * layer.grid[1] * layer.grid[2] >= 100);
  CHECK(layer.kernel.text.bounds.find("__cluster_dims__") != std::string::npos);
  CHECK(layer.can_filters_be_wide);
  CHECK_FALSE(Case{.images = {1, 66, 7, 7}, .filters = {9, 66, 3, 3}}.kernel(DType::bf16, {})->can_filters_be_wide);
}

TEST_CASE("kernels of few pixels compile") {
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc(why);
  if (!nvrtc) TSL_SKIP(why);
  const Case cases[] = {kLayer, {.images = {1, 1024, 14, 14}, .filters = {512, 1024, 1, 1}, .stride = 2}};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Case& each : cases) {
      const FewPixels convolution_ = *each.kernel(dtype, kRounding);
      CAPTURE(convolution_.kernel.text.body);
      CHECK_FALSE(compile_only(*nvrtc, {convolution_.kernel.name(), convolution_.kernel.source()}, "sm_90").empty());
    }
  }
}
