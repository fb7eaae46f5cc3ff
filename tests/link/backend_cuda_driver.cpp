// The driver's side stands on code generation alone: on no other backend, and on no backend's entry.
#include "backend/cuda/driver/disk_cache.h"
#include "backend/cuda/driver/executable.h"

using namespace tsl;

int main() {
  auto* volatile prepare = &cuda::prepare_plan;  // linked, not called: it would need a GPU
  return prepare && !cuda::DiskCache("").find({}) ? 0 : 1;
}
