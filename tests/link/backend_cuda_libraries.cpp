// The room of libraries needs the driver room, but no backend entry.
#include "backend/cuda/libraries/libraries.h"

using namespace tsl;

int main() {
  auto* volatile provider = cuda::kProviders[0];  // linked, not called: it would need a GPU
  return provider && cuda::Gpu::kWorkspaceBytes > 0 ? 0 : 1;
}
