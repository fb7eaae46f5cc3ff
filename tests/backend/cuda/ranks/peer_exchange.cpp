// NVRTC compiles the kernels that pass bytes between GPUs of one host, and add up.
#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/ranks/nccl_link.h"
#include "backend/cuda/ranks/peer_link.h"
#include "support/gpu.h"

using namespace tsl::cuda;

TEST_CASE("exchanges and sums over peer memory compile") {
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc(why);
  if (!nvrtc) TSL_SKIP(why);
  std::vector<CudaKernel> kernels = {peer_exchange_kernel()};
  for (const char* const dtype : {"i8", "u64", "bf16", "f64"}) {
    kernels.push_back(peer_sum_kernel(dtype));
    kernels.push_back(row_sum_kernel(dtype));
  }
  for (const CudaKernel& kernel : kernels) {
    CAPTURE(kernel.text.body);
    CHECK_FALSE(compile_only(*nvrtc, {kernel.name(), kernel.source()}, "sm_75").empty());
  }
}

TEST_CASE("both links add up in the dtype that eager sums of ranks have") {
  for (const auto& [dtype, sum] : {std::pair("f16", "f32"), {"bf16", "f32"}, {"f64", "f64"}, {"u8", "u8"}}) {
    CAPTURE(dtype);
    CHECK(peer_sum_kernel(dtype).text.body == fmt::format("  tsl::cuda::peers::Sum<{}, {}>(a).run();\n", dtype, sum));
    CHECK(row_sum_kernel(dtype).text.body.find(fmt::format("{} sum = ", sum)) != std::string::npos);
  }
}
