// Tests the text of the kernels of attention, which needs NVRTC but no GPU.
#include <algorithm>

#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/kernels/attention/attention_source.h"
#include "backend/cuda/op_graphs.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;
using namespace tsl::graph;

namespace {

/// Returns the passes of attention, or of its gradients: [2, 4, rows, columns] that share [2, 2, rows / 2, columns].
std::vector<AttentionPass> passes_of(DType dtype, int64_t columns, const Attrs& attrs, bool is_gradient,
                                     const DeviceFacts& target = {}, int64_t rows = 100) {
  const Lying query = plain({2, 4, rows, columns}, dtype), key = plain({2, 2, rows / 2, columns}, dtype);
  std::vector<Lying> operands = {query, key, key};
  if (is_gradient) {
    for (const Lying& more : {query, plain({2, 4, rows}, accumulator_of(dtype)), query}) operands.push_back(more);
  }
  const Graph graph =
      one_op(is_gradient ? Op::attention_grad : Op::attention, operands, attrs, {dtype, query.view.shape});
  return attention_passes(graph[static_cast<NodeId>(operands.size())], target);
}

bool is_by_warps(const AttentionPass& pass) { return pass.kernel.text.header.find("mma.sync") != std::string::npos; }

bool is_by_groups(const AttentionPass& pass) {
  return pass.kernel.is_for_one_arch && pass.kernel.text.header.find("wgmma") != std::string::npos;
}

}  // namespace

TEST_CASE("attention of whole tiles is for groups of warps where there are such products") {
  for (const bool is_gradient : {false, true}) {
    const auto by_groups = [&](DType dtype, int64_t columns, const Attrs& attrs, const DeviceFacts& target = {},
                               int64_t rows = 300) {
      return is_by_groups(passes_of(dtype, columns, attrs, is_gradient, target, rows).back());
    };
    CHECK(by_groups(DType::bf16, 64, {.causal = true}));
    CHECK(by_groups(DType::f16, 100, {.size = 7}));
    CHECK_FALSE(by_groups(DType::f32, 64, {}));
    CHECK_FALSE(by_groups(DType::bf16, 200, {}));
    CHECK_FALSE(by_groups(DType::bf16, 64, {.softcap = 2}));
    CHECK_FALSE(by_groups(DType::bf16, 64, {}, {.has_group_products = false}));
    CHECK_FALSE(by_groups(DType::bf16, 64, {}, {}, 200));
    for (const AttentionPass& pass : passes_of(DType::bf16, 128, {}, is_gradient, {}, 300))
      CHECK(pass.shared_bytes <= DeviceFacts().shared_bytes);
  }
}

TEST_CASE("16-bit attention is for tensor cores, other attention and wide halves are not") {
  for (const bool is_gradient : {false, true}) {
    for (const auto& [dtype, columns, by_warps] : {std::tuple(DType::bf16, int64_t{64}, true),
                                                   {DType::f16, 100, true},
                                                   {DType::bf16, 200, false},
                                                   {DType::f32, 64, false},
                                                   {DType::f64, 128, false}}) {
      CAPTURE(is_gradient, columns, name_of(dtype));
      const std::vector<AttentionPass> passes = passes_of(dtype, columns, {}, is_gradient);
      REQUIRE(passes.size() == (is_gradient ? 3u : 1u));
      for (const AttentionPass& pass : passes) {
        CHECK(is_by_warps(pass) == by_warps);
        CHECK(pass.shared_bytes <= DeviceFacts().shared_bytes);
        CHECK(pass.kernel.blocks > 0);
      }
    }
    CHECK(passes_of(DType::f32, 300, {}, is_gradient).empty());
    CHECK_FALSE(is_by_warps(passes_of(DType::f16, 64, {}, is_gradient, {.has_warp_products = false}).back()));
  }
}

TEST_CASE("few rows look at shares of the keys, in a cluster where there is one") {
  const auto passes = [](int64_t rows, int64_t keys, const DeviceFacts& target) {
    const Lying query = plain({1, 4, rows, 64}, DType::bf16), key = plain({1, 2, keys, 64}, DType::bf16);
    const Graph graph = one_op(Op::attention, {query, key, key}, {}, {DType::bf16, query.view.shape});
    return attention_passes(graph[3], target);
  };
  const AttentionPass one = passes(1, 4096, {}).front();
  CHECK(one.kernel.blocks == 16);
  CHECK(one.kernel.text.bounds.find("__cluster_dims__(8)") != std::string::npos);
  CHECK(passes(1, 4096, {}).size() == 1);
  CHECK(passes(1, 200, {}).front().kernel.blocks == 2);
  CHECK(passes(16, 4096, {}).front().kernel.blocks == 32);
  const std::vector<AttentionPass> old = passes(1, 4096, {.has_clusters = false});
  REQUIRE(old.size() == 2);
  CHECK(old.front().kernel.blocks == 64);
  CHECK(old.front().workspace_bytes == 64 * (16 * 64 + 32) * sizeof(float));
  CHECK(passes(17, 4096, {}).front().kernel.readable != one.kernel.readable);
}

TEST_CASE("few rows of f32 look at shares of the keys, which a second kernel adds") {
  const Lying query = plain({1, 4, 2, 64}, DType::f32), key = plain({1, 2, 4096, 64}, DType::f32);
  const Graph graph = one_op(Op::attention, {query, key, key}, {}, {DType::f32, query.view.shape});
  const std::vector<AttentionPass> passes = attention_passes(graph[3], {});
  REQUIRE(passes.size() == 2);
  CHECK(passes.front().kernel.blocks == 4 * 32);
  CHECK(passes.front().workspace_bytes == 4 * 32 * 16 * 66 * sizeof(float));
  CHECK(passes.back().kernel.blocks == 2);
}

TEST_CASE("small shared memory makes plain tiles smaller") {
  const AttentionPass large = passes_of(DType::f32, 64, {}, false).front();
  const AttentionPass small = passes_of(DType::f32, 64, {}, false, {true, uint64_t{48} << 10}).front();
  CHECK(small.shared_bytes <= uint64_t{48} << 10);
  CHECK(small.kernel.blocks > large.kernel.blocks);
}

TEST_CASE("kernels of attention compile") {
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc(why);
  if (!nvrtc) TSL_SKIP(why);
  const Attrs capped{.causal = true, .size = 7, .softcap = 2};
  const std::tuple<DType, int64_t, Attrs, const char*> cases[] = {
      {DType::bf16, 64, {}, "sm_90a"},    {DType::f16, 128, {}, "sm_90a"},    {DType::bf16, 64, capped, "sm_90"},
      {DType::f16, 128, capped, "sm_80"}, {DType::f16, 200, capped, "sm_75"}, {DType::f32, 64, {}, "sm_90"},
      {DType::f64, 32, capped, "sm_90"}};
  for (const auto& [dtype, columns, attrs, arch] : cases) {
    for (const bool is_gradient : {false, true}) {
      for (const AttentionPass& pass : passes_of(dtype, columns, attrs, is_gradient, {}, 300)) {
        CAPTURE(pass.kernel.readable, name_of(dtype), arch);
        CHECK_FALSE(compile_only(*nvrtc, {pass.kernel.name(), pass.kernel.source()}, arch).empty());
      }
    }
    for (const AttentionPass& pass :
         passes_of(dtype, columns, attrs, false, {.has_clusters = std::string_view(arch) >= "sm_90"}, 12))
      CHECK_FALSE(compile_only(*nvrtc, {pass.kernel.name(), pass.kernel.source()}, arch).empty());
  }
}
