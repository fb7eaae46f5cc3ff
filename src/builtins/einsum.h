// Computes sums of products in index notation.
#pragma once

#include <string_view>
#include <vector>

#include "value/value.h"

namespace tsl {

class Context;

/// Computes einsum("ij,jk->ik", a, b): NumPy's notation, with `...` for broadcast axes. Throws Failure (value, shape).
Tensor einsum(Context&, std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace tsl
