// Defines reductions over axes.
#include <limits>

#include "tensor/op_rows.h"

namespace tsl::rows {

namespace {

DType reduced_dtype(const OpDef& op, DType dtype) {
  switch (op.reduce_rule) {
    case ReduceRule::total: return is_float(dtype) ? dtype : DType::i64;
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
  if (twice != axes.end()) fail(ErrorKind::value, "{}: axis {} is given twice", op, *twice);
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
  const char* name = def.name.data();
  const Ints axes = normalize_axes(name, attrs.axes, x.rank());
  if (def.reduce_rule == ReduceRule::place && axes.size() != 1) {
    fail(ErrorKind::value, "{} takes exactly one axis, got {}", name, axes.size());
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
      fail(ErrorKind::value, "{}: axis {} of {} is empty", def.name, i, describe(x));
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

// The gradient is the product of all other elements: the product of the nonzero elements divided by the element, where
// it is nonzero and there is no zero, or where it is the only zero; elsewhere 0.
void vjp_prod(VjpCall& call) {
  using namespace diff;
  const Var x = var(call, call.inputs[0].tensor), g = var(call, with_axes(call, call.grad));
  const Var is_zero = eq(x, 0.0);
  const Var zeros = kept_sum(call, is_zero);
  const Var nonzero = where(is_zero, 1.0, x);
  Attrs keep = call.attrs;
  keep.keepdims = true;
  const Var product = var(call, call.ops.call(Op::prod, {nonzero.tensor()}, keep));
  const Var counts = bit_or(eq(zeros, 0), bit_and(eq(zeros, 1), is_zero));
  call.grads[0] = as_gradient(call, 0, where(counts, g * (product / nonzero), 0.0));
}

// Ties share the gradient evenly.
void vjp_extremum(VjpCall& call) {
  using namespace diff;
  const Var x = var(call, call.inputs[0].tensor), g = var(call, with_axes(call, call.grad));
  const Var is_extreme = eq(x, var(call, with_axes(call, call.output)));
  const Var ties = var(call, cast(call.ops, kept_sum(call, is_extreme).tensor(), call.grad.dtype()));
  call.grads[0] = as_gradient(call, 0, where(is_extreme, g / ties, 0.0));
}

// Each element's gradient is its share of the sum.
void vjp_logsumexp(VjpCall& call) {
  using namespace diff;
  const Var x = var(call, call.inputs[0].tensor), g = var(call, with_axes(call, call.grad));
  call.grads[0] = as_gradient(call, 0, g * exp(x - var(call, with_axes(call, call.output))));
}

constexpr std::nullopt_t none = std::nullopt;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

constexpr OpDef row(Op op, std::string_view name, ReduceRule rule, std::optional<Op> step,
                    std::optional<double> of_nothing, std::string_view signature, std::string_view doc,
                    TensorType (*infer)(Operands, const Attrs&), void (*vjp)(VjpCall&)) {
  return {.op = op,
          .name = name,
          .signature = signature,
          .doc = doc,
          .op_class = OpClass::reduction,
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
#define TSL_REDUCTION(name, combiner, rule, step, of_nothing, builtin, signature, doc, vjp) \
  table.add(row(Op::name, #name, ReduceRule::rule, step, of_nothing, signature, doc, infer_reduction<Op::name>, vjp));
#define TSL_ARG_REDUCTION(name, combiner, builtin, signature, doc) \
  TSL_REDUCTION(name, combiner, place, none, none, builtin, signature, doc, nullptr)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
}

}  // namespace tsl::rows
