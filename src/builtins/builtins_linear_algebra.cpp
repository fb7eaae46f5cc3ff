// Defines products of matrices and vectors, and factorisations.
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "builtins/einsum.h"
#include "tensor/op.h"
#include "value/context.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value matmul_builtin(Context& context, Args args) {
  const std::vector<Tensor> operands = to_tensors(context, args.values, "matmul");
  return matmul(context.ops(), operands[0], operands[1]);
}

Value dot_builtin(Context& context, Args args) {
  const std::vector<Tensor> operands = to_tensors(context, args.values, "dot");
  const Tensor &a = operands[0], &b = operands[1];
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

/// Calls an op that solves a system, for a right side of columns or of one vector.
Value solve_system(Context& context, Args args, Op op, const char* name, const Attrs& attrs) {
  const std::vector<Tensor> operands = to_tensors(context, args.values.first(2), name);
  const Tensor &a = operands[0], &b = operands[1];
  Ops& ops = context.ops();
  if (b.rank() != 1) return ops.call(op, {a, b}, attrs);
  const Tensor column = ops.call(Op::insert_axis, {b}, {.axis = 1});
  return ops.call(Op::select, {ops.call(op, {a, column}, attrs)}, {.axis = -1, .start = 0});
}

Value solve_triangular_builtin(Context& context, Args args) {
  const Attrs attrs{.upper = expect_bool(context, args[2], "upper")};
  return solve_system(context, args, Op::solve_triangular, "solve_triangular", attrs);
}

Value solve_builtin(Context& context, Args args) { return solve_system(context, args, Op::solve, "solve", {}); }

Value qr_builtin(Context& context, Args args) {
  const std::string mode = expect_string(context, args[1], "mode");
  const Results results =
      context.ops().call_many(Op::qr, {to_tensor(context, args[0], "qr")}, {.complete = mode == "complete"});
  if (mode == "r") return results[1];
  return make_tuple({results[0], results[1]});
}

Value svd_builtin(Context& context, Args args) {
  const Attrs attrs{.complete = expect_bool(context, args[1], "full_matrices")};
  const Results results = context.ops().call_many(Op::svd, {to_tensor(context, args[0], "svd")}, attrs);
  return make_tuple({results[0], results[1], results[2]});
}

Value lu_factor_builtin(Context& context, Args args) {
  const Results results = context.ops().call_many(Op::lu, {to_tensor(context, args[0], "lu_factor")});
  return make_tuple({results[0], results[1], results[2]});
}

Value einsum_builtin(Context& context, Args args) {
  const std::vector<Tensor> operands = to_tensors(context, args.values.subspan(1), "einsum");
  return einsum(context, expect_string(context, args[0], "einsum's equation"), operands);
}

Value eig_builtin(Context& context, Args args) {
  const Results results = context.ops().call_many(Op::eig, {to_tensor(context, args[0], "eig_pairs")});
  return make_tuple({results[0], results[1]});
}

/// Factorises complex matrices, whose numbers are pairs.
Value factorise_pairs(Context& context, Args args, Op op, const char* name, int results) {
  const Attrs attrs{.complete = args.size() > 1 && expect_bool(context, args[1], "complete"), .pairs = true};
  const Results made = context.ops().call_many(op, {to_tensor(context, args[0], name)}, attrs);
  std::vector<Value> values;
  for (int i = 0; i < results; ++i) values.emplace_back(made[static_cast<size_t>(i)]);
  return make_tuple(std::move(values));
}

Value qr_of_pairs(Context& context, Args args) { return factorise_pairs(context, args, Op::qr, "qr_of_pairs", 2); }
Value svd_of_pairs(Context& context, Args args) { return factorise_pairs(context, args, Op::svd, "svd_of_pairs", 3); }
Value lu_of_pairs(Context& context, Args args) { return factorise_pairs(context, args, Op::lu, "lu_of_pairs", 3); }
Value eigh_of_pairs(Context& context, Args args) {
  return factorise_pairs(context, args, Op::eigh, "eigh_of_pairs", 2);
}
Value eig_of_pairs(Context& context, Args args) { return factorise_pairs(context, args, Op::eig, "eig_of_pairs", 2); }

constexpr Builtin kLinearAlgebraRows[] = {
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
    {"solve", "solve(a: array, b: array)",
     "x with a @ x equal to b, for square matrices a, by LU; b is a vector, or matrices; a singular matrix is an error",
     solve_builtin, "linear algebra"},
    {"qr", "qr(x: array, mode: \"reduced\" | \"complete\" | \"r\" = \"reduced\")",
     "(q, r) of matrices [m, n]: q has orthonormal columns, r is upper triangular, and q @ r is x; q has as many "
     "columns "
     "as the lesser of m and n, or m if \"complete\"; \"r\" gives r alone",
     qr_builtin, "linear algebra"},
    {"svd", "svd(x: array, full_matrices: bool = false)",
     "(u, s, vh) of matrices: (u * s) @ vh is x, s are the singular values in descending order, u has orthonormal "
     "columns "
     "and vh rows, as many as s, or square matrices of them if full_matrices",
     svd_builtin, "linear algebra"},
    {"lu_factor", "lu_factor(x: array)",
     "(lu, pivots, permutation) of matrices [m, n]: x[permutation] is L @ U, of which lu holds U and, below the "
     "diagonal, "
     "L without its ones; row i was exchanged with row pivots[i]",
     lu_factor_builtin, "linear algebra"},
    {"matmul", "matmul(a: array, b: array)",
     "a @ b: the product of matrices; vectors count as a row on the left and a column on the right", matmul_builtin,
     "linear algebra"},
    {"dot", "dot(a: array, b: array)", "the inner product of vectors, or the product of matrices", dot_builtin,
     "linear algebra"},
    {"einsum", "einsum(equation: str, ...tensors: array)",
     "a sum of products in index notation: einsum(\"ij,jk->ik\", a, b) is a @ b", einsum_builtin, "linear algebra"},
    {"eig_pairs", "eig_pairs(x: tensor)",
     "the eigenvalues [..., n, 2] and, in columns, the eigenvectors [..., n, n, 2] of square matrices of f32 or f64, "
     "as pairs of a real and an imaginary part; eig() gives complex tensors, and has a derivative",
     eig_builtin, "linear algebra"},
    {"qr_of_pairs", "qr_of_pairs(x: tensor, complete: bool = false)",
     "(q, r) of complex matrices as pairs [..., m, n, 2]; qr() takes complex tensors, and has a derivative",
     qr_of_pairs, "linear algebra"},
    {"svd_of_pairs", "svd_of_pairs(x: tensor, complete: bool = false)",
     "(u, s, vh) of complex matrices as pairs [..., m, n, 2]; svd() takes complex tensors, and has a derivative",
     svd_of_pairs, "linear algebra"},
    {"lu_of_pairs", "lu_of_pairs(x: tensor)",
     "(lu, pivots, permutation) of complex matrices as pairs [..., m, n, 2]; lu_factor() takes complex tensors, and "
     "has "
     "a derivative",
     lu_of_pairs, "linear algebra"},
    {"eigh_of_pairs", "eigh_of_pairs(x: tensor)",
     "(values, vectors) of Hermitian matrices as pairs [..., n, n, 2]; eigh() takes complex tensors, and has a "
     "derivative",
     eigh_of_pairs, "linear algebra"},
    {"eig_of_pairs", "eig_of_pairs(x: tensor)",
     "(values, vectors) of complex matrices as pairs [..., n, n, 2]; eig() takes complex tensors, and has a derivative",
     eig_of_pairs, "linear algebra"},
};

}  // namespace

std::span<const Builtin> linear_algebra_builtins() { return kLinearAlgebraRows; }

}  // namespace tsl
