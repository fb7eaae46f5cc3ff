// The text in front of every kernel: the scalar bodies that the CPU uses as well (tensor/bodies/scalar_math.h,
// scalar_double.h, scalar_functions.h, scalar_angles.h, scalar_special.h, random_math.h) and the estimates of GPUs
// (scalar_short.h), then prelude.cuh and templates.cuh. It is embedded when TSL is built.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tsl::cuda {

/// Returns the whole prelude.
std::string_view prelude();

/// Returns the declarations of the prelude that the sources use, directly or through other declarations. All overloads
/// of a name are kept, so that overload resolution does not change. A small kernel uses a tenth of the prelude; the
/// rest would take a quarter of its compile time.
std::string prelude_for(std::span<const std::string_view> sources);

}  // namespace tsl::cuda
