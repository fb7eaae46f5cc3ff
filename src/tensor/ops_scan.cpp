// Defines ops along one axis: running sums and products, and sorting.
#include "tensor/op_rows.h"

namespace tsl::rows {

namespace {

TensorType infer_cumulative(Operands operands, const Attrs&) {
  const Tensor& x = operands[0].tensor;
  return {is_float(x.dtype()) ? x.dtype() : DType::i64, x.shape()};
}

TensorType infer_argsort(Operands operands, const Attrs&) { return {DType::i64, operands[0].tensor.shape()}; }

Tensor cumulate(VjpCall& call, Op op, const Tensor& x) { return call.ops.call(op, {x}, {.axis = call.attrs.axis}); }

// Returns the sums from each element to the end.
Tensor sum_to_end(VjpCall& call, const Tensor& x) {
  const int64_t axis = call.attrs.axis;
  return flip(call.ops, cumulate(call, Op::cumsum, flip(call.ops, x, axis)), axis);
}

void vjp_cumsum(VjpCall& call) { call.grads[0] = sum_to_end(call, call.grad); }

// The derivative of output y[k], k >= i, by element i is y[k] / x[i]. At the first zero it is the product without that
// zero; after the first zero every output contains the zero, so the gradient is 0.
void vjp_cumprod(VjpCall& call) {
  using namespace diff;
  const Var x = var(call, call.inputs[0].tensor), g = var(call, call.grad), y = var(call, call.output);
  const Var is_zero = eq(x, 0.0);
  const Var zeros = var(call, cumulate(call, Op::cumsum, is_zero.tensor()));
  const Var is_first_zero = bit_and(is_zero, eq(zeros, 1));
  const Var without_first = var(call, cumulate(call, Op::cumprod, where(is_first_zero, 1.0, x).tensor()));
  const Var before = var(call, sum_to_end(call, (g * y).tensor())) / where(is_zero, 1.0, x);
  const Var at_first = var(call, sum_to_end(call, (g * without_first).tensor()));
  call.grads[0] = as_gradient(call, 0, where(eq(zeros, 0), before, where(is_first_zero, at_first, 0.0)));
}

}  // namespace

void add_scans(Table& table) {
  table.add({.op = Op::cumsum,
             .name = "cumsum",
             .signature = "cumsum(x, axis: -1)",
             .doc = "the running sum along an axis",
             .op_class = OpClass::scan,
             .arity = 1,
             .prepare = prepare_axis,
             .infer = infer_cumulative,
             .vjp = vjp_cumsum});
  table.add({.op = Op::cumprod,
             .name = "cumprod",
             .signature = "cumprod(x, axis: -1)",
             .doc = "the running product along an axis",
             .op_class = OpClass::scan,
             .arity = 1,
             .prepare = prepare_axis,
             .infer = infer_cumulative,
             .vjp = vjp_cumprod});
  table.add({.op = Op::argsort,
             .name = "argsort",
             .signature = "argsort(x, axis: -1, descending: false)",
             .doc = "the indices that put x in order along an axis; equals keep theirs",
             .op_class = OpClass::sort,
             .arity = 1,
             .prepare = prepare_axis,
             .infer = infer_argsort});
}

}  // namespace tsl::rows
