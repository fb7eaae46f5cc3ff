// Limits the size of tensors. Ops::call checks it before anything is allocated or recorded, so eager and compiled
// programs reject the same tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/dtype.h"
#include "tensor/layout.h"

namespace tsl {

/// Below this many bytes no index computation overflows; no machine has more memory.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 46;

/// Returns the most bytes of a tensor on the host: the memory that the process may use, at most kMaxTensorBytes.
int64_t memory_limit();
/// Returns the most bytes of a tensor on a device of this memory.
int64_t as_limit(uint64_t memory);

/// Returns the product of the extents' hints; null if it exceeds int64, or an extent is negative.
std::optional<int64_t> count_if_representable(const Shape& shape);

/// The most that a tensor may have.
struct SizeLimits {
  int64_t bytes = kMaxTensorBytes;     // what its device has; a view has no memory of its own
  int64_t elements = kMaxTensorBytes;  // what the host program allows
};

/// Throws Failure if a result of this type exceeds the limits (memory, or limit, which the program cannot catch), or
/// has a negative extent (value).
void check_size(std::string_view op, DType dtype, const Shape& shape, const SizeLimits& limits);

/// Formats a size: "16.0 TiB".
std::string format_bytes(double bytes);

}  // namespace tsl
