// Defines products of matrices and vectors.
#include "base/error.h"
#include "builtins/builtins.h"
#include "builtins/einsum.h"
#include "tensor/op.h"
#include "value/context.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value matmul_builtin(Context& context, Args args) {
  return matmul(context.ops(), to_tensor(context, args[0], "matmul"), to_tensor(context, args[1], "matmul"));
}

Value dot_builtin(Context& context, Args args) {
  const Tensor a = to_tensor(context, args[0], "dot"), b = to_tensor(context, args[1], "dot");
  if (a.rank() == 0 || b.rank() == 0) return context.ops().call(Op::mul, {a, b});
  return matmul(context.ops(), a, b);
}

Value cholesky_builtin(Context& context, Args args) {
  return context.ops().call(Op::cholesky, {to_tensor(context, args[0], "cholesky")});
}

Value eigh_builtin(Context& context, Args args) {
  const Results results = context.ops().call_many(Op::eigh, {to_tensor(context, args[0], "eigh")});
  return make_tuple({results[0], results[1]});
}

Value solve_triangular_builtin(Context& context, Args args) {
  const Tensor a = to_tensor(context, args[0], "solve_triangular"), b = to_tensor(context, args[1], "solve_triangular");
  const Attrs attrs{.upper = expect_bool(context, args[2], "upper")};
  Ops& ops = context.ops();
  if (b.rank() != 1) return ops.call(Op::solve_triangular, {a, b}, attrs);
  const Tensor column = ops.call(Op::insert_axis, {b}, {.axis = 1});
  const Tensor x = ops.call(Op::solve_triangular, {a, column}, attrs);
  return ops.call(Op::select, {x}, {.axis = -1, .start = 0});
}

Value einsum_builtin(Context& context, Args args) {
  std::vector<Tensor> operands;
  for (size_t i = 1; i < args.size(); ++i) operands.push_back(to_tensor(context, args[i], "einsum"));
  return einsum(context, expect_string(context, args[0], "einsum's equation"), operands);
}

constexpr Builtin kRows[] = {
    {"cholesky", "cholesky(x: array)",
     "the lower triangular L with L @ L.T equal to x, for positive definite matrices; reads the lower triangle of x",
     cholesky_builtin, "linear algebra"},
    {"eigh", "eigh(x: array)",
     "(values, vectors) of symmetric matrices: eigenvalues in ascending order, and eigenvectors in columns; reads the "
     "lower triangle of x",
     eigh_builtin, "linear algebra"},
    {"solve_triangular", "solve_triangular(a: array, b: array, upper: bool = false)",
     "x with a @ x equal to b, where the lower (or upper) triangle of a counts; b is a vector, or matrices",
     solve_triangular_builtin, "linear algebra"},
    {"matmul", "matmul(a: array, b: array)",
     "a @ b: the product of matrices; vectors count as a row on the left and a column on the right", matmul_builtin,
     "linear algebra"},
    {"dot", "dot(a: array, b: array)", "the inner product of vectors, or the product of matrices", dot_builtin,
     "linear algebra"},
    {"einsum", "einsum(equation: str, ...tensors: array)",
     "a sum of products in index notation: einsum(\"ij,jk->ik\", a, b) is a @ b", einsum_builtin, "linear algebra"},
};

}  // namespace

std::span<const Builtin> linear_algebra_builtins() { return kRows; }

}  // namespace tsl
