// Defines bits_of() for programs of the tests, which digests results that are too large to print.
#pragma once

#include "value/builtin.h"

namespace tsl {

/// Defines `bits_of(x)` for a tensor or a list of them: dtype, shape and a hash of the elements in order. All NaNs have
/// one hash; 0.0 and -0.0 have different ones.
extern const Builtin kBitsOf;

}  // namespace tsl
