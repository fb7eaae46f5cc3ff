// The builtin vmap.
#pragma once

#include "value/builtin.h"

namespace tsl {

/// Returns the function that calls f for all examples at once.
Value vmap_builtin(Context& context, Args args);

}  // namespace tsl
