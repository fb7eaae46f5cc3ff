// Defines reductions over axes.
#include <limits>

#include "base/error_names.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

DType reduced_dtype(const OpDef& op, DType dtype) {
  switch (op.reduce_rule) {
    case ReduceRule::total: return total_of(dtype);
    case ReduceRule::same: break;
    case ReduceRule::floating: return to_float(dtype);
    case ReduceRule::logic: return DType::boolean;
    case ReduceRule::place: return DType::i64;
  }
  return dtype;
}

Ints normalize_axes(const char* op, const Ints& given, int rank) {
  Ints axes;
  for (int64_t axis : given) axes.push_back(normalize_axis(axis, rank, op));
  std::sort(axes.begin(), axes.end());
  const int64_t* twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice != axes.end()) fail(ErrorName::repeated_axis, "{}: axis {} is given twice", op, *twice);
  return axes;
}

/// Returns the dtype to which an operand is converted before `infer` and kernels see it.
DType operand_dtype(const OpDef& op, DType dtype) {
  if (op.reduce_rule == ReduceRule::logic) return DType::boolean;
  if (op.reduce_rule == ReduceRule::floating && dtype != DType::f64) return DType::f32;
  return dtype;
}

Tensor prepare_reduction(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  const OpDef& def = op_def(op);
  if (def.reduce_rule == ReduceRule::floating && !is_float(x.dtype()) && ops.promoted_reals() != to_float(x.dtype()))
    return ops.call(op, {cast(ops, x, ops.promoted_reals())}, attrs);
  const char* name = def.name.data();
  const Ints axes = normalize_axes(name, attrs.axes, x.rank());
  if (def.reduce_rule == ReduceRule::place && axes.size() != 1) {
    fail(ErrorName::wrong_axis_count, "{} takes exactly one axis, got {}", name, axes.size());
  }
  if (axes.empty()) return cast(ops, x, reduced_dtype(def, x.dtype()));  // each element is its own sum
  const DType dtype = operand_dtype(def, x.dtype());
  if (axes == attrs.axes && dtype == x.dtype()) return {};
  Attrs formed = attrs;
  formed.axes = axes;
  return cast(ops, ops.call(op, {cast(ops, x, dtype)}, formed), reduced_dtype(def, x.dtype()));
}

template <Op kOp> TensorType infer_reduction(Operands operands, const Attrs& attrs) {
  const OpDef& def = op_def(kOp);
  const Tensor& x = operands[0].tensor;
  TensorType result{reduced_dtype(def, x.dtype()), {}};
  for (int i = 0; i < x.rank(); ++i) {
    if (!attrs.axes.contains(i)) {
      result.shape.push_back(x.shape()[i]);
      continue;
    }
    if (!def.of_nothing && x.shape()[i] < 1) {
      fail(ErrorName::empty_input, "{}: axis {} of {} is empty", def.name, i, describe(x));
    }
    if (attrs.keepdims) result.shape.push_back(1);
  }
  return result;
}

// Inserts the reduced axes again, with extent 1.
Tensor with_axes(VjpCall& call, const Tensor& reduced) {
  if (call.attrs.keepdims) return reduced;
  Tensor result = reduced;
  for (int64_t axis : call.attrs.axes) result = insert_axis(call.ops, result, axis);
  return result;
}

diff::Var kept_sum(VjpCall& call, const diff::Var& x) {
  return diff::Var(call.ops, sum(call.ops, x.tensor(), call.attrs.axes, true));
}

void vjp_sum(VjpCall& call) {
  call.grads[0] = expand(call.ops, with_axes(call, call.grad), call.inputs[0].tensor.shape());
}

/// The products of the elements before each one along the last axis.
Tensor product_before(Ops& ops, const Tensor& x) {
  const int last = x.rank() - 1;
  const Dim extent = x.shape()[last];
  Shape one = x.shape();
  one[last] = 1;
  const Tensor products = ops.call(Op::cumprod, {x}, {.axis = last});
  const Tensor ones = fill(ops, one, x.dtype(), Scalar::of(1.0));
  return ops.call(Op::concat, {ones, slice(ops, products, last, 0, extent - 1)}, {.axis = last});
}

/// Converts a half to f32, in which derivatives count and multiply: a count or a product may exceed f16.
Tensor widened(Ops& ops, const Tensor& x) { return is_half(x.dtype()) ? cast(ops, x, DType::f32) : x; }

/// The gradient is the product of the other elements: of those before and of those after each one. Without a quotient,
/// so that the rule holds at zeros and for its own derivatives.
void vjp_prod(VjpCall& call) {
  using namespace diff;
  Ops& ops = call.ops;
  const Tensor& x = call.inputs[0].tensor;
  if (element_count(x.shape()) == Dim(0)) {
    call.grads[0] = zeros(ops, x.shape(), x.dtype());
    return;
  }
  Ints order;
  Shape kept;
  for (int i = 0; i < x.rank(); ++i) {
    if (call.attrs.axes.contains(i)) continue;
    order.push_back(i);
    kept.push_back(x.shape()[i]);
  }
  for (int64_t axis : call.attrs.axes) order.push_back(axis);
  Ints inverse = order;
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  const Tensor ordered = permute(ops, widened(ops, x), order);
  kept.push_back(-1);
  const Tensor rows = reshape(ops, ordered, kept);
  const int64_t last = rows.rank() - 1;
  const Var after = var(call, flip(ops, product_before(ops, flip(ops, rows, last)), last));
  const Tensor others = (var(call, product_before(ops, rows)) * after).tensor();
  const Tensor placed = permute(ops, reshape(ops, others, ordered.shape()), inverse);
  call.grads[0] = as_gradient(call, 0, var(call, with_axes(call, widened(ops, call.grad))) * var(call, placed));
}

// Ties share the gradient evenly.
void vjp_extremum(VjpCall& call) {
  using namespace diff;
  const Var x = var(call, call.inputs[0].tensor), g = var(call, with_axes(call, widened(call.ops, call.grad)));
  const Var is_extreme = eq(x, var(call, with_axes(call, call.output)));
  const Var ties = var(call, cast(call.ops, kept_sum(call, is_extreme).tensor(), g.tensor().dtype()));
  call.grads[0] = as_gradient(call, 0, where(is_extreme, g / ties, 0.0));
}

// Each element's gradient is its share of the sum; zero where all elements are -inf, whose difference would be NaN.
void vjp_logsumexp(VjpCall& call) {
  using namespace diff;
  const Var x = var(call, call.inputs[0].tensor), g = var(call, with_axes(call, call.grad));
  const Var total = var(call, with_axes(call, call.output));
  const Var finite_total = where(eq(total, -std::numeric_limits<double>::infinity()), 0.0, total);
  call.grads[0] = as_gradient(call, 0, g * exp(x - finite_total));
}

constexpr std::nullopt_t none = std::nullopt;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

constexpr OpDef row(Op op, std::string_view name, ReduceRule rule, double cost, std::optional<Op> step,
                    std::optional<double> of_nothing, std::string_view signature, std::string_view doc,
                    TensorType (*infer)(Operands, const Attrs&), void (*vjp)(VjpCall&)) {
  return {.op = op,
          .name = name,
          .signature = signature,
          .doc = doc,
          .traits = {.fuses_as = FusesAs::reduction,
                     .writes_into = WritesInto::fresh,
                     .operands = OperandRule::tensors,
                     .axis = AxisUse::axes,
                     .needs = InputNeed::nothing,
                     .category = Category::reduction,
                     .operations = cost,
                     .failure = nullptr,
                     .ordering = Ordering::free},
          .reduce_rule = rule,
          .step = step,
          .of_nothing = of_nothing,
          .arity = 1,
          .prepare = prepare_reduction,
          .infer = infer,
          .vjp = vjp};
}

}  // namespace

void add_reductions(Table& table) {
#define TSL_REDUCTION(name, combiner, rule, cost, step, of_nothing, builtin, signature, doc, vjp) \
  table.add(                                                                                      \
      row(Op::name, #name, ReduceRule::rule, cost, step, of_nothing, signature, doc, infer_reduction<Op::name>, vjp));
#define TSL_ARG_REDUCTION(name, combiner, cost, builtin, signature, doc) \
  TSL_REDUCTION(name, combiner, place, cost, none, none, builtin, signature, doc, nullptr)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
}

}  // namespace tsl::rows
