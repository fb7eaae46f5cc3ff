// The text in front of every kernel: the scalar bodies that the CPU runs too (tensor/bodies/scalar_math.h,
// scalar_functions.h, random_math.h), then prelude.cuh and codegen/templates.cuh. Embedded when TSL is built.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tsl::cuda {

/// All of it.
std::string_view prelude();

/// What of it some kernels (their sources) use: the declarations of the names that occur in them, of those that occur
/// in these declarations, and so on, in their order; of a name all, so that overloads are chosen as among all. A small
/// kernel uses a tenth of the prelude, and would spend a quarter of its time at the compiler on the rest.
std::string prelude_for(std::span<const std::string_view> sources);

}  // namespace tsl::cuda
