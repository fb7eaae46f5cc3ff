// Defines attention by other ops, with its scores in memory: what a device without a kernel for a call computes.
#include <limits>

#include "tensor/rows/attention.h"
#include "tensor/rows/op_rows.h"

namespace tsl {

namespace {

using diff::Var;

constexpr double kUnseen = -std::numeric_limits<double>::infinity();  // the score of what a row may not look at

bool is_half(const Tensor& x) { return is_float(x.dtype()) && size_of(x.dtype()) < size_of(DType::f32); }
Tensor wide(Ops& ops, const Tensor& x) { return is_half(x) ? cast(ops, x, DType::f32) : x; }
Dim extent_from_end(const Tensor& x, int i) { return x.shape()[x.rank() - i]; }

/// Returns query @ keyᵀ. Products of f16 exceed f16; bf16 has the range of f32, and so its fast product.
Tensor products(Ops& ops, const Tensor& query, const Tensor& key) {
  const Tensor turned = transpose(ops, key);
  if (query.dtype() == DType::f16 && key.dtype() == DType::f16)
    return matmul(ops, cast(ops, query, DType::f32), cast(ops, turned, DType::f32));
  return wide(ops, matmul(ops, query, turned));
}

/// Returns scores before masks: scaled, and perhaps capped.
Var scores_of(Ops& ops, const AttentionCall& call) {
  const Dim width = extent_from_end(call.query, 1);
  const Var factor =
      call.scale ? Var(ops, *call.scale) : diff::pow(Var(ops, Operand(Scalar::of(width.hint()), width.symbol())), -0.5);
  const Var scores = Var(ops, products(ops, call.query, call.key)) * factor;
  if (!call.softcap) return scores;
  const Var cap(ops, *call.softcap);
  return cap * diff::tanh(scores / cap);
}

/// Returns softmax(scores) along the last axis. `has_empty_rows`: rows of nothing but kUnseen become zeros instead of
/// NaN, and so do their gradients; others have the same bits.
Var shares_of(Ops& ops, const Var& scores, bool has_empty_rows) {
  const auto along_rows = [&](Op op, const Tensor& x) { return ops.call(op, {x}, {.keepdims = true, .axes = {-1}}); };
  const Var greatest(ops, constant(along_rows(Op::max, scores.tensor())));
  std::optional<Var> is_empty;
  if (has_empty_rows) is_empty = diff::eq(greatest, kUnseen);
  const Var powers = diff::exp(scores - (is_empty ? diff::where(*is_empty, 0.0, greatest) : greatest));
  const Var sums(ops, along_rows(Op::sum, powers.tensor()));
  return powers * (1.0 / (is_empty ? diff::where(*is_empty, 1.0, sums) : sums));
}

/// Returns x [..., heads, rows, columns] as [..., groups, heads / groups, rows, columns]; one head becomes (1, 1).
Tensor in_groups(Ops& ops, const Tensor& x, Dim groups) {
  const int axis = x.rank() - 3;
  const Dim heads = x.shape()[axis];
  const bool is_shared = heads == Dim(1);
  Shape shape = x.shape();
  shape[axis] = is_shared ? Dim(1) : heads / groups;
  shape.insert(axis, is_shared ? Dim(1) : groups);
  return reshape(ops, x, shape);
}

/// Pairs heads with the groups that share a key by a broadcast, so that nothing is repeated.
Tensor compose_groups(Ops& ops, const AttentionCall& call) {
  const Dim groups = extent_from_end(call.key, 3);
  AttentionCall of_groups = call;
  of_groups.is_grouped = false;
  of_groups.query = in_groups(ops, call.query, groups);
  of_groups.key = rows::insert_axis(ops, call.key, call.key.rank() - 2);
  of_groups.value = rows::insert_axis(ops, call.value, call.value.rank() - 2);
  if (call.mask && call.mask.rank() >= 3) of_groups.mask = in_groups(ops, call.mask, groups);
  Shape shape = call.query.shape();
  shape[shape.rank() - 1] = extent_from_end(call.value, 1);
  return reshape(ops, compose_attention(ops, of_groups), shape);
}

/// Returns a number that becomes an attribute, on which a trace then depends.
double as_attribute(const Operand& number) {
  const Scalar value = number.symbol ? number.symbol->table->pin(number.symbol, "specialised") : number.scalar;
  return value.as_real();
}

}  // namespace

Tensor visible_keys(Ops& ops, Dim rows, Dim keys, bool is_causal, int64_t window) {
  if (!is_causal && window == 0) return {};
  const auto numbers = [&](Dim count, int64_t axis) {
    const Tensor line =
        ops.call(Op::iota, {Scalar::of(int64_t{0}), Scalar::of(int64_t{1})}, {.dtype = DType::i64, .count = count});
    return rows::insert_axis(ops, line, axis);
  };
  const Tensor ahead = ops.call(Op::sub, {numbers(keys, 0), numbers(rows, 1)});
  const Tensor seen = ops.call(Op::le, {ahead, Scalar::of(is_causal ? int64_t{0} : window - 1)});
  return window == 0 ? seen : ops.call(Op::mul, {seen, ops.call(Op::ge, {ahead, Scalar::of(1 - window)})});
}

Tensor compose_attention(Ops& ops, const AttentionCall& call) {
  if (call.is_grouped) return compose_groups(ops, call);
  const Placement placement(ops, call.query.device());
  Var scores = scores_of(ops, call);
  const Tensor seen =
      visible_keys(ops, extent_from_end(call.query, 2), extent_from_end(call.key, 2), call.is_causal, call.window);
  if (seen) scores = diff::where(Var(ops, seen), scores, kUnseen);
  if (call.mask) {
    const Var mask(ops, call.mask);
    scores = call.mask.dtype() == DType::boolean ? diff::where(mask, scores, kUnseen) : scores + mask;
  }
  Tensor shares = shares_of(ops, scores, call.mask || call.window != 0).tensor();
  if (is_half(call.value)) shares = cast(ops, shares, call.value.dtype());
  return matmul(ops, shares, call.value);
}

bool is_op(const AttentionCall& call) {
  const Tensor &query = call.query, &key = call.key, &value = call.value;
  if ((call.scale && call.scale->is_tensor()) || (call.softcap && call.softcap->is_tensor())) return false;
  if (call.softcap && !(as_attribute(*call.softcap) > 0)) return false;
  if (!is_float(query.dtype()) || key.dtype() != query.dtype() || value.dtype() != query.dtype()) return false;
  const int rank = query.rank(), own_axes = call.is_grouped ? 3 : 2;
  bool fits =
      rank >= 2 && key.rank() == rank && value.rank() == rank && query.shape()[rank - 1] == key.shape()[rank - 1];
  for (int i = 0; fits && i < rank - own_axes; ++i) fits = query.shape()[i] == key.shape()[i];
  for (int i = 0; fits && i < rank - 1; ++i) fits = key.shape()[i] == value.shape()[i];
  if (!fits || !call.mask) return fits;
  fits = call.mask.rank() <= rank;
  for (int i = 1; fits && i <= call.mask.rank(); ++i) {
    const Dim extent = extent_from_end(call.mask, i);
    fits = extent == Dim(1) || extent == (i == 1 ? extent_from_end(key, 2) : extent_from_end(query, i));
  }
  return fits;
}

Tensor call_attention(Ops& ops, const AttentionCall& call) {
  if (!is_op(call)) return compose_attention(ops, call);
  Attrs attrs{.causal = call.is_causal, .size = call.window};
  if (call.scale) attrs.scale = scale_attribute(as_attribute(*call.scale));
  if (call.softcap) attrs.softcap = as_attribute(*call.softcap);
  std::vector<Operand> operands = {call.query, call.key, call.value};
  if (call.mask) {
    Shape scores = call.query.shape();
    scores[scores.rank() - 1] = extent_from_end(call.key, 2);
    const bool is_added = call.mask.dtype() != DType::boolean;
    const DType dtype = is_added ? promote(accumulator_of(call.query.dtype()), call.mask.dtype()) : DType::boolean;
    operands.emplace_back(expand(ops, cast(ops, call.mask, dtype), scores));
  }
  if (call.query.rank() > 2) return ops.call(Op::attention, operands, attrs);
  if (ops.is_composed(op_def(Op::attention), operands, attrs)) return compose_attention(ops, call);
  for (Operand& operand : operands) operand.tensor = rows::insert_axis(ops, operand.tensor, 0);
  return ops.call(Op::select, {ops.call(Op::attention, operands, attrs)}, {.axis = 0, .start = 0});
}

std::string_view refusal(const AttentionLimits& limits, std::span<const Operand> operands, bool is_named) {
  const Tensor &query = operands[0].tensor, &value = operands[2].tensor;
  const bool has_mask = operands.size() == 4;
  if (has_mask && operands[3].tensor.dtype() != DType::boolean) return "the mask is added to scores";
  if (is_named) return {};
  if (has_mask && Dim(limits.masked_rows) < extent_from_end(query, 2))
    return "gradients of many rows with a mask keep scores in memory";
  const Dim most = is_half(query) ? limits.half_columns : limits.columns;
  if (most < extent_from_end(query, 1) || most < extent_from_end(value, 1))
    return "with many columns, products with scores in memory are faster";
  return {};
}

namespace rows {

Results compose_attention_op(Ops& ops, Operands operands, const Attrs& attrs) {
  AttentionCall call{operands[0].tensor, operands[1].tensor, operands[2].tensor};
  if (operands.size() == 4) call.mask = operands[3].tensor;
  if (attrs.scale != 0) call.scale = Scalar::of(attrs.scale == kZeroScale ? 0.0 : attrs.scale);
  if (attrs.softcap != 0) call.softcap = Scalar::of(attrs.softcap);
  call.is_causal = attrs.causal;
  call.window = attrs.size;
  call.is_grouped = !(extent_from_end(call.query, 3) == extent_from_end(call.key, 3));
  return {compose_attention(ops, call)};
}

}  // namespace rows

}  // namespace tsl
