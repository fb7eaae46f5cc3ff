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
