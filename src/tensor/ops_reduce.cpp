// Reductions over axes.
#include "tensor/op_rows.h"

namespace tsl::rows {

namespace {

bool is_arg(Op op) { return op == Op::argmax || op == Op::argmin; }
bool is_logic(Op op) { return op == Op::any || op == Op::all; }

DType reduced_dtype(Op op, DType dtype) {
  if (is_arg(op)) return DType::i64;
  if (is_logic(op)) return DType::boolean;
  if (op == Op::sum || op == Op::prod) return is_float(dtype) ? dtype : DType::i64;
  if (op == Op::logsumexp) return is_float(dtype) ? dtype : DType::f32;
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

/// What an operand is reduced as: `infer` and kernels know no others.
DType operand_dtype(Op op, DType dtype) {
  if (is_logic(op)) return DType::boolean;
  if (op == Op::logsumexp && dtype != DType::f64) return DType::f32;
  return dtype;
}

Tensor prepare_reduction(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  const char* name = op_def(op).name.data();
  const Ints axes = normalize_axes(name, attrs.axes, x.rank());
  if (is_arg(op) && axes.size() != 1) {
    fail(ErrorKind::value, "{} takes exactly one axis, got {}", name, axes.size());
  }
  if (axes.empty()) return cast(ops, x, reduced_dtype(op, x.dtype()));  // each element is a sum of its own
  const DType dtype = operand_dtype(op, x.dtype());
  if (axes == attrs.axes && dtype == x.dtype()) return {};
  Attrs formed = attrs;
  formed.axes = axes;
  return cast(ops, ops.call(op, {cast(ops, x, dtype)}, formed), reduced_dtype(op, x.dtype()));
}

template <Op kOp> TensorType infer_reduction(Operands operands, const Attrs& attrs) {
  constexpr bool has_neutral = kOp == Op::sum || kOp == Op::prod || kOp == Op::any || kOp == Op::all;
  const Tensor& x = operands[0].tensor;
  TensorType result{reduced_dtype(kOp, x.dtype()), {}};
  for (int i = 0; i < x.rank(); ++i) {
    if (!attrs.axes.contains(i)) {
      result.shape.push_back(x.shape()[i]);
      continue;
    }
    if (!has_neutral && x.shape()[i] < 1) {
      fail(ErrorKind::value, "{}: axis {} of {} is empty", op_def(kOp).name, i, describe(x));
    }
    if (attrs.keepdims) result.shape.push_back(1);
  }
  return result;
}

// A reduced tensor with its reduced axes, of extent 1, in place.
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

// The gradient is the product of the other elements: the product without zeros, divided by the element, where
// the element is the only zero or there is none; 0 elsewhere.
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

// Each element's share of the sum.
void vjp_logsumexp(VjpCall& call) {
  using namespace diff;
  const Var x = var(call, call.inputs[0].tensor), g = var(call, with_axes(call, call.grad));
  call.grads[0] = as_gradient(call, 0, g * exp(x - var(call, with_axes(call, call.output))));
}

template <Op kOp> void add_reduction(Table& table, std::string_view name, std::string_view signature,
                                     std::string_view doc, void (*vjp)(VjpCall&)) {
  table.add({.op = kOp,
             .name = name,
             .signature = signature,
             .doc = doc,
             .op_class = OpClass::reduction,
             .arity = 1,
             .prepare = prepare_reduction,
             .infer = infer_reduction<kOp>,
             .vjp = vjp});
}

}  // namespace

void add_reductions(Table& table) {
  add_reduction<Op::sum>(table, "sum", "sum(x, axis: nil, keepdims: false)", "the sum over axes", vjp_sum);
  add_reduction<Op::prod>(table, "prod", "prod(x, axis: nil, keepdims: false)", "the product over axes", vjp_prod);
  add_reduction<Op::max>(table, "max", "max(x, axis: nil, keepdims: false)", "the greatest element over axes",
                         vjp_extremum);
  add_reduction<Op::min>(table, "min", "min(x, axis: nil, keepdims: false)", "the least element over axes",
                         vjp_extremum);
  add_reduction<Op::logsumexp>(table, "logsumexp", "logsumexp(x, axis: nil, keepdims: false)",
                               "log(sum(exp(x))) over axes, without overflow", vjp_logsumexp);
  add_reduction<Op::argmax>(table, "argmax", "argmax(x, axis: nil, keepdims: false)",
                            "the index of the first greatest element along an axis", nullptr);
  add_reduction<Op::argmin>(table, "argmin", "argmin(x, axis: nil, keepdims: false)",
                            "the index of the first least element along an axis", nullptr);
  add_reduction<Op::any>(table, "any", "any(x, axis: nil, keepdims: false)", "whether some element is true", nullptr);
  add_reduction<Op::all>(table, "all", "all(x, axis: nil, keepdims: false)", "whether every element is true", nullptr);
}

}  // namespace tsl::rows
