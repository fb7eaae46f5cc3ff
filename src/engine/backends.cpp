#include "engine/backends.h"

// One name a backend: src/backend/NAME makes the library tsl_NAME, which defines tsl::NAME::backend_entry(). The first
// of them that may be the default place for tensors, and has a device, is.
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
  static const exec::BackendRegistry registry({TSL_BACKENDS(TSL_ENTRY)});
#undef TSL_ENTRY
  return registry;
}

}  // namespace tsl
