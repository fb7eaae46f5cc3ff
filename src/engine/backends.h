// The backends that this build registers.
#pragma once

#include "exec/backend_registry.h"

namespace tsl {

const exec::BackendRegistry& backends();

}  // namespace tsl
