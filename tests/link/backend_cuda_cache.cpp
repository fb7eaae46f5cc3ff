// The cache of compiled kernels needs neither CUDA nor the rooms that generate kernels.
#include "backend/cuda/cache/compiled_kernels.h"

using namespace tsl;

int main() {
  const cuda::Digest key = cuda::Digester().add("kernel").digest();
  cuda::CompiledKernels& kernels = cuda::CompiledKernels::of_process();
  kernels.store(key, cuda::Bytes(3));
  const cuda::CompiledKernels::Claim claim(kernels, {key});
  return kernels.find(key)->size() == 3 && !cuda::DiskCache("").find(key) ? 0 : 1;
}
