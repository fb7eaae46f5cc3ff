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

/// Returns the product of the extents' hints; null if it exceeds int64.
std::optional<int64_t> count_if_representable(const Shape& shape);

/// Throws Failure (memory) if a result of this type takes more than `limit` bytes: those of its device or, for a view,
/// which has no memory of its own, kMaxTensorBytes.
void check_size(std::string_view op, DType dtype, const Shape& shape, int64_t limit);

/// Formats a size: "16.0 TiB".
std::string format_bytes(double bytes);

}  // namespace tsl
