// The sizes of an attention call, as its kernels need them.
#pragma once

#include <cstdint>
#include <limits>
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

/// In Attrs::scale, 0 stands for the usual scale, and this for 0, which it is once it is rounded to the dtype of
/// scores.
inline constexpr double kZeroScale = std::numeric_limits<double>::denorm_min();
inline double scale_attribute(double scale) { return scale == 0 ? kZeroScale : scale; }

/// The distances between an operand's elements, of which a row's lie side by side.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
};
/// Returns the strides of [batch…, heads, rows, columns]; none if columns have gaps, or batches no common stride.
std::optional<HeadStrides> head_strides(const Layout& layout);

// ---- The definition
// ----------------------------------------------------------------------------------------------

/// A call in all forms that the definition takes.
struct AttentionCall {
  Tensor query, key, value;
  Tensor mask = {};  // bool: true where a row may look; or numbers that are added to scores; null: none
  std::optional<Operand> scale = {}, softcap = {};  // numbers, or tensors of one; none: 1 / sqrt(width), no cap
  bool is_causal = false;
  int64_t window = 0;       // 0: none
  bool is_grouped = false;  // heads of query share those of key and value
};

/// Computes attention by other ops, with its scores in memory.
Tensor compose_attention(Ops& ops, const AttentionCall& call);
/// Whether Op::attention can express a call: floats of one dtype, equal leading axes, and numbers.
bool is_op(const AttentionCall& call);
/// Calls Op::attention if it can express the call; else computes it by other ops.
Tensor call_attention(Ops& ops, const AttentionCall& call);

/// Returns where rows may look, bool [rows, keys]; null: everywhere.
Tensor visible_keys(Ops& ops, Dim rows, Dim keys, bool is_causal, int64_t window);

/// Where a device's kernels of attention are best: beyond, scores in memory cost less.
struct AttentionLimits {
  int64_t columns, half_columns;  // of f32 and f64, and of shorter floats
  int64_t masked_rows;
};
/// Says why Op::attention with these operands is computed by its definition; "": it is not. `is_named`: only if the
/// kernels cannot compute it.
std::string_view refusal(const AttentionLimits& limits, std::span<const Operand> operands, bool is_named);

namespace rows {
/// OpDef::compose of Op::attention, without the logsumexp.
Results compose_attention_op(Ops& ops, std::span<const Operand> operands, const Attrs& attrs);
}  // namespace rows

}  // namespace tsl
