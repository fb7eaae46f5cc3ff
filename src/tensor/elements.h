// Converts single elements on the host, as bits of their dtype. All conversions between host numbers and elements are
// here: of kernels' scalar operands, and of elements read or written in place.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/dtype.h"
#include "tensor/scalar.h"

namespace tsl {

/// The bits of an element, in the first size_of(dtype) bytes.
struct ScalarBits {
  alignas(8) unsigned char bytes[8] = {};
};

/// Converts a host number as the op `cast` does: floats round to nearest; a float to an integer truncates and
/// saturates; integers wrap around; any number but zero is true.
ScalarBits to_bits(Scalar value, DType dtype);

/// Load and store one element, as a bool, an int or a float. Loading throws Failure (value) for an element of u64 that
/// exceeds host ints.
Scalar load_element(DType dtype, const std::byte* at);
void store_element(DType dtype, std::byte* at, Scalar value);
/// Makes 1 of each byte that is not 0: memory of others may hold any byte, and kernels require 0 or 1.
void normalise_bools(std::byte* data, size_t count);
/// Returns an element of any dtype as the nearest float.
double real_element(DType dtype, const std::byte* at);
/// Returns an element of an integer dtype or bool as `print` shows it.
std::string exact_element_text(DType dtype, const std::byte* at);

// Convert 16-bit floats, given as bits.
float f16_to_float(uint16_t bits);
float bf16_to_float(uint16_t bits);
uint16_t float_to_f16(float value);
uint16_t float_to_bf16(float value);

}  // namespace tsl
