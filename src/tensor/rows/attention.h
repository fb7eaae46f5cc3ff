// The sizes of an attention call, as its kernels need them.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/op.h"

namespace tsl {

/// The extents of attention: query [batch…, heads, rows, width], key [batch…, groups, keys, width] and value [batch…,
/// groups, keys, value_width]. Row i looks at keys i - left to i + right, of these at the ones where a mask is true, if
/// there is a fourth operand: bool [batch…, heads, rows, keys].
struct AttentionForm {
  /// So far beyond every matrix that sums with a row's number do not overflow an i32.
  static constexpr int64_t kAll = int64_t{1} << 29;

  int64_t batch = 1, heads = 1, groups = 1, rows = 0, keys = 0, width = 0, value_width = 0;
  int64_t left = kAll, right = kAll;
  double scale = 1, cap = 0;  // cap: 0 for none

  AttentionForm(const Shape& query, const Shape& key, const Shape& value, const Attrs& attrs);
  /// The number of query's heads that share one of key and value.
  int64_t share() const { return groups > 0 ? heads / groups : 1; }
};

/// The distances between an operand's elements, of which a row's lie side by side.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
};
/// Returns the strides of [batch…, heads, rows, columns]; none if columns have gaps, or batches no common stride.
std::optional<HeadStrides> head_strides(const Layout& layout);

}  // namespace tsl
