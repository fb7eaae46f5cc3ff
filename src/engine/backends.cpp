#include "engine/backends.h"

// One name per backend: src/backend/NAME makes the library tsl_NAME, which defines tsl::NAME::backend_entry(). Tensors
// are made by default on the first backend that allows this and has a device.
#define TSL_BACKENDS(X) X(cuda)

namespace tsl {

#define TSL_DECLARE(name)             \
  namespace name {                    \
  exec::BackendEntry backend_entry(); \
  }
TSL_BACKENDS(TSL_DECLARE)
#undef TSL_DECLARE

const exec::BackendRegistry& backends() {
#define TSL_ENTRY(name) name::backend_entry(),
  static const auto& registry = *new exec::BackendRegistry({TSL_BACKENDS(TSL_ENTRY)});
#undef TSL_ENTRY
  return registry;
}

}  // namespace tsl
