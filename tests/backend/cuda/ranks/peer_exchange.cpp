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
  for (const char* const dtype : {"u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"}) {
    kernels.push_back(peer_sum_kernel(dtype));
    kernels.push_back(row_sum_kernel(dtype));
  }
  for (const CudaKernel& kernel : kernels) {
    CAPTURE(kernel.text.body);
    for (const char* const arch : {"sm_75", "sm_90"})
      CHECK_FALSE(compile_only(*nvrtc, {kernel.name(), kernel.source()}, arch).empty());
  }
}
