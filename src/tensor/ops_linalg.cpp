// Defines matrix products.
#include "base/error_names.h"
#include "tensor/op_rows.h"

namespace tsl::rows {

namespace {

std::string describe_product(const Tensor& a, const Tensor& b) {
  return fmt::format("{} @ {}", describe(a), describe(b));
}

/// Says which operand to transpose so that two matrices fit.
std::vector<std::string> transposed_hints(const Tensor& a, const Tensor& b) {
  const bool is_by_vector = a.rank() == 2 && b.rank() == 1;
  if (is_by_vector && a.shape()[0] == b.shape()[0])
    return {"`a.T @ b` would fit, with a on the left and b on the right"};
  const bool is_of_vector = a.rank() == 1 && b.rank() == 2;
  if (is_of_vector && a.shape()[0] == b.shape()[1])
    return {"`a @ b.T` would fit, with a on the left and b on the right"};
  if (a.rank() == 1 && b.rank() == 1) return {"a product of two vectors needs two of one length"};
  if (a.rank() != 2 || b.rank() != 2) return {};
  std::string hint;
  if (a.shape()[1] == b.shape()[1]) hint = "`a @ b.T`";
  if (a.shape()[0] == b.shape()[0]) hint += hint.empty() ? "`a.T @ b`" : " or `a.T @ b`";
  if (hint.empty() && a.shape()[0] == b.shape()[1]) hint = "`b @ a`";
  if (hint.empty()) return {"the left side needs as many columns as the right side has rows"};
  return {hint + " would fit, with a on the left and b on the right"};
}

void check_product(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) {
    fail(ErrorName::rank_too_low, "matmul: a 0-d tensor is no matrix: {}", describe_product(a, b));
  }
  if (a.dtype() == DType::boolean && b.dtype() == DType::boolean) {
    fail(ErrorName::wrong_dtype, "matmul: expected numbers, got {}", describe_product(a, b));
  }
  const Dim inner = a.shape()[a.rank() - 1];
  const Dim other = b.shape()[b.rank() == 1 ? 0 : b.rank() - 2];
  if (!(inner == other)) {
    fail_with(ErrorName::matmul_mismatch, fmt::format("matmul: inner dimensions differ: {}", describe_product(a, b)),
              transposed_hints(a, b),
              {fmt::format("the left side has {} columns, the right side {} rows", inner.hint(), other.hint())});
  }
}

Shape batch_shape(const Tensor& x) {
  return Shape(std::span<const Dim>(x.shape().begin(), static_cast<size_t>(x.rank() - 2)));
}

// Returns the shape [batch..., second last axis of x, last axis of x].
Shape with_batch(Shape batch, const Tensor& x) {
  batch.push_back(x.shape()[x.rank() - 2]);
  batch.push_back(x.shape()[x.rank() - 1]);
  return batch;
}

// Multiplies with vectors: a vector becomes a matrix of one row (left) or one column (right), and the result drops this
// axis.
Tensor multiply_vectors(Ops& ops, const Tensor& a, const Tensor& b) {
  const Tensor left = a.rank() == 1 ? insert_axis(ops, a, 0) : a;
  const Tensor right = b.rank() == 1 ? insert_axis(ops, b, 1) : b;
  const Tensor product = matmul(ops, left, right);
  Shape shape = product.shape();
  if (b.rank() == 1) shape.erase(shape.rank() - 1);
  if (a.rank() == 1) shape.erase(shape.rank() - (b.rank() == 1 ? 1 : 2));
  return reshape(ops, product, shape);
}

// Multiplies many matrices by one as a single large product of all rows, which also makes the gradient of the single
// matrix one product.
Tensor multiply_rows(Ops& ops, const Tensor& a, const Tensor& b) {
  const int rank = a.rank();
  const Shape rows = {element_count(Shape(std::span<const Dim>(a.shape().begin(), static_cast<size_t>(rank - 1)))),
                      a.shape()[rank - 1]};
  Shape shape = a.shape();
  shape[rank - 1] = b.shape()[1];
  return reshape(ops, matmul(ops, reshape(ops, a, rows), b), shape);
}

Tensor prepare_matmul(Ops& ops, Op, Operands operands, const Attrs&) {
  const Tensor& a = operands[0].tensor;
  const Tensor& b = operands[1].tensor;
  check_product(a, b);
  const DType dtype = promote(a.dtype(), b.dtype());
  if (a.dtype() != dtype || b.dtype() != dtype) return matmul(ops, cast(ops, a, dtype), cast(ops, b, dtype));
  if (a.rank() == 1 || b.rank() == 1) return multiply_vectors(ops, a, b);
  if (a.rank() > 2 && b.rank() == 2) return multiply_rows(ops, a, b);
  const Shape batch_a = batch_shape(a), batch_b = batch_shape(b);
  if (same(batch_a, batch_b)) return {};
  const std::optional<Shape> batch = try_broadcast(batch_a, batch_b);
  if (!batch) fail(ErrorName::matmul_mismatch, "matmul: batch dimensions differ: {}", describe_product(a, b));
  return matmul(ops, expand(ops, a, with_batch(*batch, a)), expand(ops, b, with_batch(*batch, b)));
}

TensorType infer_matmul(Operands operands, const Attrs&) {
  const Tensor& a = operands[0].tensor;
  const Tensor& b = operands[1].tensor;
  Shape shape = a.shape();
  shape[a.rank() - 1] = b.shape()[b.rank() - 1];
  return {a.dtype(), shape};
}

void vjp_matmul(VjpCall& call) {
  const Tensor& a = call.inputs[0].tensor;
  const Tensor& b = call.inputs[1].tensor;
  if (call.needed[0]) call.grads[0] = matmul(call.ops, call.grad, transpose(call.ops, b));
  if (call.needed[1]) call.grads[1] = matmul(call.ops, transpose(call.ops, a), call.grad);
}

}  // namespace

void add_linear_algebra(Table& table) {
  table.add({.op = Op::matmul,
             .name = "matmul",
             .signature = "matmul(a, b)",
             .doc = "the matrix product a @ b, over leading axes as batches",
             .traits = unfused_traits(Category::matmul, AxisUse::none, 1.0),
             .arity = 2,
             .prepare = prepare_matmul,
             .infer = infer_matmul,
             .vjp = vjp_matmul});
}

}  // namespace tsl::rows
