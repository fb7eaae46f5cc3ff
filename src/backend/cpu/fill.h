// Fills memory with one element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/op.h"

namespace tsl::cpu {

/// Writes `count` copies of one element of `size` bytes.
void fill(void* out, const void* value, size_t size, int64_t count);
/// Writes the result of a reduction over no elements.
void fill_identity(void* out, Op op, DType dtype, int64_t count);

}  // namespace tsl::cpu
