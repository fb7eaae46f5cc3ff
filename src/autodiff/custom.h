// Calls with derivatives of their own: the builtins with_vjp and remat.
#pragma once

#include "value/builtin.h"

namespace tsl {

/// Returns f with the derivative that a rule gives.
Value with_vjp_builtin(Context& context, Args args);
/// Returns f, which computes its intermediate values again when it is differentiated.
Value remat_builtin(Context& context, Args args);

}  // namespace tsl
