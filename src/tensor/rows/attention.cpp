// Defines attention and its gradients as ops, so that scores need no memory.
#include "tensor/rows/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error_names.h"
#include "tensor/rows/op_rows.h"

namespace tsl {

AttentionForm::AttentionForm(const Shape& query, const Shape& key, const Shape& value, const Attrs& attrs) {
  const int rank = query.rank();
  for (int i = 0; i < rank - 3; ++i) batch *= query[i].hint();
  heads = query[rank - 3].hint();
  groups = key[rank - 3].hint();
  rows = query[rank - 2].hint();
  keys = key[rank - 2].hint();
  width = query[rank - 1].hint();
  value_width = value[rank - 1].hint();
  const int64_t window = attrs.size > 0 ? std::min(attrs.size - 1, kAll) : kAll;
  left = window;
  right = attrs.causal ? 0 : window;
  scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(width, 1)));
  cap = attrs.softcap;
}

std::optional<HeadStrides> head_strides(const Layout& layout) {
  const int rank = layout.rank();
  const auto extent = [&](int axis) { return layout.shape[axis].hint(); };
  const auto stride = [&](int axis) { return layout.strides[axis].hint(); };
  if (extent(rank - 1) > 1 && stride(rank - 1) != 1) return {};
  HeadStrides strides{0, stride(rank - 3), stride(rank - 2)};
  int64_t count = 1;  // of the batches along the axes behind
  for (int axis = rank - 4; axis >= 0; --axis) {
    if (extent(axis) == 1) continue;
    if (count == 1) strides.batch = stride(axis);
    else if (stride(axis) != strides.batch * count) return {};
    count *= extent(axis);
  }
  return strides;
}

namespace rows {

namespace {

// ---- Types -------------------------------------------------------------------------------------------------------

constexpr int64_t kMostAttentionRows = int64_t{1} << 28;
constexpr int64_t kMostColumns = int64_t{1} << 20;

void check_numbers(const Attrs& attrs) {
  if (!std::isfinite(attrs.scale) || !std::isfinite(attrs.softcap))
    fail(ErrorName::argument_out_of_range, "attention: scale and softcap must be finite, not {} and {}", attrs.scale,
         attrs.softcap);
}

/// Checks query, key and value, which come first in both ops.
void check_attention(Operands operands, const Attrs& attrs) {
  const Tensor &query = operands[0].tensor, &key = operands[1].tensor, &value = operands[2].tensor;
  const auto describe_all = [&] {
    return fmt::format("{}, {} and {}", describe(query), describe(key), describe(value));
  };
  if (!is_float(query.dtype()) || key.dtype() != query.dtype() || value.dtype() != query.dtype())
    fail(ErrorName::wrong_dtype, "attention: expected floats of one dtype, got {}", describe_all());
  const int rank = query.rank();
  if (rank < 3 || key.rank() != rank || value.rank() != rank)
    fail(ErrorName::shape_mismatch, "attention: expected [batch, heads, rows, columns], got {}", describe_all());
  const Shape &q = query.shape(), &k = key.shape(), &v = value.shape();
  bool fits = q[rank - 1] == k[rank - 1] && k[rank - 2] == v[rank - 2] && k[rank - 3] == v[rank - 3];
  for (int i = 0; fits && i < rank - 3; ++i) fits = q[i] == k[i] && k[i] == v[i];
  if (fits && !(q[rank - 3] == k[rank - 3])) {
    const int64_t heads = q[rank - 3].pin(), groups = k[rank - 3].pin();
    fits = groups > 0 && heads % groups == 0;
  }
  if (!fits) fail(ErrorName::shape_mismatch, "attention: {} do not fit", describe_all());
  if (q[rank - 2].hint() > kMostAttentionRows || k[rank - 2].hint() > kMostAttentionRows ||
      q[rank - 1].hint() > kMostColumns || v[rank - 1].hint() > kMostColumns)
    fail(ErrorName::matrix_too_large, "attention: {} are too large", describe_all());
  check_numbers(attrs);
}

void check_mask(Operands operands) {
  const Tensor &query = operands[0].tensor, &key = operands[1].tensor, &mask = operands[3].tensor;
  Shape expected = query.shape();
  expected[query.rank() - 1] = key.shape()[query.rank() - 2];
  bool fits = mask.rank() == query.rank();
  for (int i = 0; fits && i < query.rank(); ++i) fits = mask.shape()[i] == expected[i];
  if (!fits)
    fail(ErrorName::shape_mismatch, "attention: expected a mask of shape {}, got {}", to_string(expected),
         describe(mask));
}

DType logsumexp_type(DType dtype) { return accumulator_of(dtype); }

/// Returns [batch…, heads, rows] and, if given, columns.
Shape rows_of_query(Operands operands, std::optional<Dim> columns) {
  Shape shape = operands[0].tensor.shape();
  shape.erase(shape.rank() - 1);
  if (columns) shape.push_back(*columns);
  return shape;
}

TensorType infer_attention(Operands operands, const Attrs& attrs) {
  if (operands.size() != 3 && operands.size() != 4)
    fail(ErrorName::shape_mismatch, "attention: expected 3 or 4 operands, got {}", operands.size());
  check_attention(operands, attrs);
  if (operands.size() == 4) check_mask(operands);
  const Shape& value = operands[2].tensor.shape();
  return {operands[0].tensor.dtype(), rows_of_query(operands, value[value.rank() - 1])};
}

TensorType infer_logsumexp(Operands operands, const Attrs&, int) {
  return {logsumexp_type(operands[0].tensor.dtype()), rows_of_query(operands, {})};
}

/// Operands: query, key, value, the results of attention, and the gradient of the first.
TensorType infer_gradient(Operands operands, const Attrs& attrs) {
  check_attention(operands, attrs);
  return {operands[0].tensor.dtype(), operands[0].tensor.shape()};
}

TensorType infer_other_gradient(Operands operands, const Attrs&, int result) {
  const Tensor& x = operands[static_cast<size_t>(result)].tensor;
  return {x.dtype(), x.shape()};
}

// ---- Derivatives -------------------------------------------------------------------------------------------------

/// Makes the gradients of the first `count` operands zeros.
void put_zeros(VjpCall& call, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Tensor& x = call.inputs[i].tensor;
    if (call.needed[i]) call.grads[i] = zeros(call.ops, x.shape(), x.dtype());
  }
}

/// Scores and what follows from them, in memory. Heads that share a key are rows of one matrix: [batch…, groups, share
/// * rows, columns].
class ComposedAttention {
 public:
  /// `mask`: an operand of the call; null: none.
  ComposedAttention(VjpCall& call, const Tensor& mask)
      : call_(call),
        mask_(mask),
        form_(call.inputs[0].tensor.shape(), call.inputs[1].tensor.shape(), call.inputs[2].tensor.shape(), call.attrs) {
    query = of_groups(call.inputs[0].tensor);
    key = wide(call.inputs[1].tensor);
    value = wide(call.inputs[2].tensor);
    find_shares();
  }

  Tensor query, key, value;
  Tensor shares;  // softmax(scores)
  Tensor slopes;  // of capped scores by scores; null: no cap
  Tensor capped;  // scores / cap; null: no cap

  double scale() const { return form_.scale; }
  double cap() const { return form_.cap; }

  Tensor of_groups(const Tensor& x) const {
    const Shape& keys = call_.inputs[1].tensor.shape();
    Shape shape = x.shape();
    const int head = shape.rank() - 3;
    if (shape[head].same(keys[head])) return wide(x);
    shape[head] = keys[head];
    shape[head + 1] = shape[head + 1] * Dim(form_.share());
    return reshape(call_.ops, wide(x), shape);
  }
  /// Sets the gradient of operand i, if it is needed.
  void put(size_t i, const Tensor& x) const {
    if (call_.needed[i])
      call_.grads[i] = as_gradient(call_, i, var(reshape(call_.ops, x, call_.inputs[i].tensor.shape())));
  }
  diff::Var var(const Tensor& x) const { return diff::Var(call_.ops, x); }
  Tensor product(const Tensor& a, const Tensor& b) const { return matmul(call_.ops, a, b); }
  Tensor turned(const Tensor& x) const { return transpose(call_.ops, x); }
  /// Returns the sums of rows, with extents of 1.
  diff::Var row_sums(const diff::Var& x) const { return diff::Var(call_.ops, sum(call_.ops, x.tensor(), {-1}, true)); }

 private:
  Tensor wide(const Tensor& x) const { return cast(call_.ops, x, accumulator_of(x.dtype())); }

  /// Returns where rows may look, [share * rows, keys] or as many for each group; null: everywhere.
  Tensor visible() const {
    const Tensor near = nearby();
    if (!mask_) return near;
    const Shape &scores = mask_.shape(), &keys = call_.inputs[1].tensor.shape();
    Shape of_groups = scores;
    of_groups[scores.rank() - 3] = keys[scores.rank() - 3];
    of_groups[scores.rank() - 2] = scores[scores.rank() - 2] * Dim(form_.share());
    const Tensor mask = reshape(call_.ops, mask_, of_groups);
    return near ? call_.ops.call(Op::mul, {mask, near}) : mask;
  }
  /// The same without a mask.
  Tensor nearby() const {
    Ops& ops = call_.ops;
    const Shape &q = call_.inputs[0].tensor.shape(), &k = call_.inputs[1].tensor.shape();
    const Dim rows = q[q.rank() - 2], keys = k[k.rank() - 2], share = form_.share();
    const Tensor seen = visible_keys(ops, rows, keys, call_.attrs.causal, call_.attrs.size);
    if (!seen) return {};
    return reshape(ops, expand(ops, insert_axis(ops, seen, 0), {share, rows, keys}), {share * rows, keys});
  }

  void find_shares() {
    diff::Var scores = var(product(query, turned(key))) * form_.scale;
    if (form_.cap != 0) {
      const diff::Var ratio = diff::tanh(scores / form_.cap);
      capped = ratio.tensor();
      slopes = (1.0 - diff::square(ratio)).tensor();
      scores = ratio * form_.cap;
    }
    const Tensor seen = visible();
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    if (seen) scores = diff::where(var(seen), scores, kNone);
    const diff::Var most = var(call_.ops.call(Op::max, {scores.tensor()}, {.keepdims = true, .axes = {-1}}));
    const diff::Var shift = diff::where(diff::eq(most, kNone), 0.0, most);
    const diff::Var powers = diff::exp(scores - shift);
    const diff::Var total = row_sums(powers);
    shares = (powers / diff::where(diff::eq(total, 0.0), 1.0, total)).tensor();
  }

  VjpCall& call_;
  Tensor mask_;
  AttentionForm form_;
};

/// Differentiates attention with a mask, whose few rows of scores need little memory.
void vjp_masked(VjpCall& call) {
  if (element_count(call.inputs[1].tensor.shape()) == Dim(0)) return put_zeros(call, 3);
  const ComposedAttention a(call, call.inputs[3].tensor);
  const Tensor grad = a.of_groups(call.result_grads[0]);
  const diff::Var p = a.var(a.shares);
  a.put(2, a.product(a.turned(a.shares), grad));
  const diff::Var of_shares = a.var(a.product(grad, a.turned(a.value)));
  diff::Var of_scores = p * (of_shares - a.row_sums(of_shares * p));
  if (a.slopes) of_scores = of_scores * a.var(a.slopes);
  const Tensor of_products = (of_scores * a.scale()).tensor();
  a.put(0, a.product(of_products, a.key));
  a.put(1, a.product(a.turned(of_products), a.query));
}

void vjp_attention(VjpCall& call) {
  if (!call.result_grads[0]) return;
  if (call.inputs.size() == 4) return vjp_masked(call);
  const Results grads = call.ops.call_many(Op::attention_grad,
                                           {call.inputs[0].tensor, call.inputs[1].tensor, call.inputs[2].tensor,
                                            call.results[0], call.results[1], call.result_grads[0]},
                                           call.attrs);
  for (size_t i = 0; i < 3; ++i) {
    if (call.needed[i]) call.grads[i] = grads[i];
  }
}

/// With c the gradients of the gradients, <c, attention_grad> is <grad, J>, where J is the derivative of attention in
/// the direction c: J = dP V + P cV with dP = P (dS - sum(P dS)) and dS = (cQ Kᵀ + Q cKᵀ) scale. This differentiates J
/// by query, key, value and grad. The results of attention, which are operands, depend on these: they get none.
void vjp_attention_grad(VjpCall& call) {
  if (element_count(call.inputs[1].tensor.shape()) == Dim(0)) return put_zeros(call, 6);
  const ComposedAttention a(call, {});
  const auto direction = [&](size_t i, const Tensor& like) {
    if (!call.result_grads[i]) return zeros(call.ops, like.shape(), like.dtype());
    return a.of_groups(call.result_grads[i]);
  };
  const Tensor of_query = direction(0, a.query), of_key = direction(1, a.key), of_value = direction(2, a.value);
  const Tensor grad = a.of_groups(call.inputs[5].tensor);
  const diff::Var p = a.var(a.shares);
  diff::Var turn = (a.var(a.product(of_query, a.turned(a.key))) + a.var(a.product(a.query, a.turned(of_key)))) *
                   a.scale();  // of products
  const diff::Var flat = turn;
  if (a.slopes) turn = turn * a.var(a.slopes);
  const diff::Var mean = a.row_sums(p * turn);
  const diff::Var change = p * (turn - mean);  // dP
  if (call.needed[5]) {
    const diff::Var result = a.var(a.product(change.tensor(), a.value)) + a.var(a.product(a.shares, of_value));
    a.put(5, result.tensor());
  }
  if (call.needed[2]) a.put(2, a.product(a.turned(change.tensor()), grad));
  if (!call.needed[0] && !call.needed[1]) return;
  const diff::Var of_change = a.var(a.product(grad, a.turned(a.value)));
  const diff::Var weighted = a.row_sums(of_change * p);
  diff::Var of_turn = p * (of_change - weighted);
  const diff::Var of_shares = a.var(a.product(grad, a.turned(of_value))) + of_change * (turn - mean) - weighted * turn;
  diff::Var of_scores = p * (of_shares - a.row_sums(of_shares * p));
  if (a.slopes) {
    const diff::Var slopes = a.var(a.slopes);
    of_scores = of_scores * slopes - of_turn * flat * slopes * a.var(a.capped) * (2.0 / a.cap());
    of_turn = of_turn * slopes;
  }
  const Tensor first = (of_scores * a.scale()).tensor(), second = (of_turn * a.scale()).tensor();
  if (call.needed[0]) a.put(0, (a.var(a.product(first, a.key)) + a.var(a.product(second, of_key))).tensor());
  if (call.needed[1])
    a.put(1, (a.var(a.product(a.turned(first), a.query)) + a.var(a.product(a.turned(second), of_query))).tensor());
}

constexpr OpTraits kTraits =
    unfused_traits(Category::attention, AxisUse::none, std::nullopt, FlopsOf::nothing, Allocates::unless_of_floats);

}  // namespace

void add_attention(Table& table) {
  table.add(
      {.op = Op::attention,
       .name = "attention",
       .signature = "flash_attention(query, key, value)",
       .doc = "softmax(query @ key.T * scale) @ value, perhaps with a mask, and the logsumexp of each row of scores",
       .traits = kTraits,
       .arity = -1,  // with or without a mask
       .infer = infer_attention,
       .results = 2,
       .infer_other = infer_logsumexp,
       .compose = compose_attention_op,
       .vjp = vjp_attention,
       .batch = batch_leading});
  table.add({.op = Op::attention_grad,
             .name = "attention_grad",
             .signature = "",
             .doc = "the gradients of attention by query, key and value",
             .traits = kTraits,
             .arity = 6,
             .infer = infer_gradient,
             .results = 3,
             .infer_other = infer_other_gradient,
             .vjp = vjp_attention_grad,
             .batch = batch_leading});
}

}  // namespace rows

}  // namespace tsl
