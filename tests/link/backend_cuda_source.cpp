// The text of kernels needs neither a code generator nor the toolkit's headers.
#include "backend/cuda/source/cuda_kernel.h"
#include "backend/cuda/source/prelude.h"

using namespace tsl;

int main() {
  cuda::CudaKernel kernel;
  kernel.readable = "k";
  kernel.text.parameters = "float* b0";
  return cuda::parameters_of(kernel.text).size() == 1 && !cuda::prelude().empty() && !kernel.source().empty() ? 0 : 1;
}
