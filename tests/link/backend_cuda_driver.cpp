// The driver room needs code generation, but no other backend and no backend entry.
#include "backend/cuda/cache/disk_cache.h"
#include "backend/cuda/driver/executable.h"

using namespace tsl;

int main() {
  auto* volatile prepare = &cuda::prepare_plan;  // linked, not called: it would need a GPU
  return prepare && !cuda::DiskCache("").find({}) ? 0 : 1;
}
