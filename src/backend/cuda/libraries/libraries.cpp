#include "backend/cuda/libraries/libraries.h"

namespace tsl::cuda {

void add_libraries(Gpu& gpu) {
  gpu.libraries.add(products_provider(gpu));
}

}  // namespace tsl::cuda
