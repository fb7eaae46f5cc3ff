// The room of libraries needs the driver room, but no backend entry.
#include "backend/cuda/libraries/libraries.h"

using namespace tsl;

int main() {
  auto* volatile add = &cuda::add_libraries;  // linked, not called: it would need a GPU
  return add && cuda::Gpu::kWorkspaceBytes > 0 ? 0 : 1;
}
