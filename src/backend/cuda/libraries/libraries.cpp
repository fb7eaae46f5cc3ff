#include "backend/cuda/libraries/libraries.h"

namespace tsl::cuda {

void add_libraries(Gpu& gpu) {
  for (const auto provider : {products_provider, factorisations_provider, triangular_provider})
    gpu.libraries.add(provider(gpu));
}

}  // namespace tsl::cuda
