// How large a tensor may be. Asked by Ops::call before anything is allocated or recorded, so that an eager
// and a compiled program refuse the same tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/dtype.h"
#include "tensor/layout.h"

namespace tsl {

/// No index computation can overflow below this many bytes, and no machine has more.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 46;

/// The bytes one tensor may take: the machine's physical memory, or kMaxTensorBytes if that is less.
int64_t memory_limit();

/// The product of the extents' hints; null if it exceeds int64.
std::optional<int64_t> count_if_representable(const Shape& shape);

/// Throws Failure (memory) if a result of this type may not exist. A view takes no memory of its own: it is
/// measured against kMaxTensorBytes only.
void check_size(std::string_view op, DType dtype, const Shape& shape, bool is_view);

/// "16.0 TiB"
std::string format_bytes(double bytes);

}  // namespace tsl
