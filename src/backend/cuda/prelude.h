// The text in front of every kernel: the scalar bodies that the CPU runs too (tensor/scalar_math.h, scalar_functions.h,
// random_math.h), then prelude.cuh and codegen/templates.cuh. Embedded when TSL is built.
#pragma once

#include <string_view>

namespace tsl::cuda {

std::string_view prelude();

}  // namespace tsl::cuda
