// Single elements on the host, in the bits of their dtype. The one place where host numbers and elements meet: the
// kernels' scalar operands, elements written in place and elements read all convert here.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"
#include "tensor/scalar.h"

namespace tsl {

/// An element's bits; the first size_of(dtype) bytes count.
struct ScalarBits {
  alignas(8) unsigned char bytes[8] = {};
};

/// A host number converted as the op `cast` converts: floats round to nearest; a float that becomes an integer
/// truncates and saturates; integers wrap around; what is not zero is true.
ScalarBits to_bits(Scalar value, DType dtype);

/// One element at an address: a bool, an int or a float.
Scalar load_element(DType dtype, const std::byte* at);
void store_element(DType dtype, std::byte* at, Scalar value);

// The 16-bit floats as bits.
float f16_to_float(uint16_t bits);
float bf16_to_float(uint16_t bits);
uint16_t float_to_f16(float value);
uint16_t float_to_bf16(float value);

}  // namespace tsl
