// The CUDA backend links alone, and its program starts without a driver.
#include "backend/cuda/backend.h"
#include "backend/cuda/cache/disk_cache.h"
#include "backend/cuda/source/prelude.h"

using namespace tsl;

int main() {
  auto* volatile open = &cuda::open_backend;  // linked, not called: it would need a GPU
  return open && !cuda::prelude().empty() && !cuda::DiskCache("").find({}) ? 0 : 1;
}
