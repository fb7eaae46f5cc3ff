// The builtins of automatic differentiation: grad, value_and_grad, vjp, stop_gradient.
#pragma once

#include <span>

#include "value/builtin.h"

namespace tsl {

std::span<const Builtin> autodiff_builtins();

}  // namespace tsl
