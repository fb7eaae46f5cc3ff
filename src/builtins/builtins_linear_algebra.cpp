// Defines products of matrices and vectors, and convolutions.
#include <memory>

#include "base/error_names.h"
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

/// Calls an op that solves a system, for a right side of columns or of one vector.
Value solve_system(Context& context, Args args, Op op, const char* name, const Attrs& attrs) {
  const Tensor a = to_tensor(context, args[0], name), b = to_tensor(context, args[1], name);
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
  std::vector<Tensor> operands;
  for (size_t i = 1; i < args.size(); ++i) operands.push_back(to_tensor(context, args[i], "einsum"));
  return einsum(context, expect_string(context, args[0], "einsum's equation"), operands);
}

// ---- Convolutions --------------------------------------------------------------------------------------------------

constexpr int kBeforeSpace = 2;  // axes of a batch and of channels

/// Reads an int for each axis of space, or one for all.
Ints expect_per_axis(Context& context, const Value& v, int axes, const char* function, const char* parameter) {
  Ints all;
  const auto items = sequence_items(context, v);
  if (!items) {
    const int64_t one = expect_int(context, v, parameter);
    for (int i = 0; i < axes; ++i) all.push_back(one);
    return all;
  }
  if (items->size() != static_cast<size_t>(axes)) {
    fail_argument(ErrorName::rank_mismatch, parameter,
                  fmt::format("{}: {} has {} ints for {} axes of space", function, parameter, items->size(), axes));
  }
  for (const Value& item : *items) all.push_back(expect_int(context, item, parameter));  // bounded: one an axis
  return all;
}

/// Reads what lies around each axis: an int, or a pair (before, after).
void expect_padding(Context& context, const Value& v, const char* function, ConvGeometry& geometry) {
  const int axes = geometry.rank();
  const auto items = sequence_items(context, v);
  const bool has_pairs = items && !items->empty() && sequence_items(context, items->front());
  if (!has_pairs) {
    geometry.low = geometry.high = expect_per_axis(context, v, axes, function, "padding");
    return;
  }
  if (items->size() != static_cast<size_t>(axes)) {
    fail_argument(ErrorName::rank_mismatch, "padding",
                  fmt::format("{}: padding has {} pairs for {} axes of space", function, items->size(), axes));
  }
  for (const Value& item : *items) {  // bounded: one an axis
    const Ints pair = expect_per_axis(context, item, 2, function, "padding");
    geometry.low.push_back(pair[0]);
    geometry.high.push_back(pair[1]);
  }
}

constexpr int64_t kMostPadding = int64_t{1} << 40;  // beyond any memory, and sums of it do not wrap around

/// Reads stride, padding, dilation and groups, from `args[first]` on.
Ref<const ConvGeometry> expect_geometry(Context& context, Args args, size_t first, int rank, const char* function) {
  const int axes = rank - kBeforeSpace;
  if (axes < 1 || axes > 3) {
    fail_argument(ErrorName::rank_mismatch, "x",
                  fmt::format("{}: x must have 3 to 5 dimensions, [n, channels, space...], not {}", function, rank));
  }
  auto geometry = std::make_unique<ConvGeometry>();
  geometry->stride = expect_per_axis(context, args[first], axes, function, "stride");
  geometry->dilation = expect_per_axis(context, args[first + 2], axes, function, "dilation");
  expect_padding(context, args[first + 1], function, *geometry);
  geometry->groups = expect_int(context, args[first + 3], "groups");
  for (const Ints* padding : {&geometry->low, &geometry->high}) {
    for (const int64_t width : *padding) {  // bounded: one an axis
      if (width < 0 || width > kMostPadding) {
        fail_argument(ErrorName::argument_out_of_range, "padding",
                      fmt::format("{}: no padding is of {} elements", function, width));
      }
    }
  }
  return geometry.release();
}

Value conv_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "conv"), weights = to_tensor(context, args[1], "conv");
  return context.ops().call(Op::conv, {x, weights}, {.conv = expect_geometry(context, args, 2, x.rank(), "conv")});
}

/// Computes the gradient of an input that has this shape. What windows of the last stride leave over, or lack, is taken
/// from the padding after it.
Value conv_transpose_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "conv_transpose"),
               weights = to_tensor(context, args[1], "conv_transpose");
  const Shape shape = expect_shape(context, args[2], "conv_transpose's shape");
  ConvGeometry geometry = *expect_geometry(context, args, 3, x.rank(), "conv_transpose");
  if (shape.rank() != geometry.rank() || weights.rank() != x.rank()) {
    fail_argument(ErrorName::rank_mismatch, shape.rank() != geometry.rank() ? "shape" : "weight",
                  fmt::format("conv_transpose: x has {} axes of space, shape {}, and weight {}", geometry.rank(),
                              shape.rank(), weights.rank() - kBeforeSpace));
  }
  for (int i = 0; i < geometry.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const Dim reach = (weights.shape()[kBeforeSpace + i] - 1) * geometry.dilation[at] + 1;
    const Dim whole = (x.shape()[kBeforeSpace + i] - 1) * geometry.stride[at] + reach;
    geometry.high[at] = (whole - geometry.low[at] - shape[i]).pin();
  }
  const Attrs attrs{.shape = shape, .conv = make_ref<const ConvGeometry>(geometry)};
  return context.ops().call(Op::conv_input_grad, {x, weights}, attrs);
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
    {"conv",
     "conv(x: tensor, weight: tensor, stride: integers in 1.. = 1, padding: integers | list | tuple = 0, "
     "dilation: integers in 1.. = 1, groups: integer in 1.. = 1)",
     "x [n, channels, ...] convolved with weight [out, channels / groups, ...], over one to three axes; padding is a "
     "width, one for each axis, or pairs (before, after)",
     conv_builtin, "linear algebra"},
    {"conv_transpose",
     "conv_transpose(x: tensor, weight: tensor, shape: integers, stride: integers in 1.. = 1, "
     "padding: integers | list | tuple = 0, dilation: integers in 1.. = 1, groups: integer in 1.. = 1)",
     "the transpose of conv(), from its results x [n, channels, ...] to inputs of this shape of space; weight is "
     "[channels, out / groups, ...]",
     conv_transpose_builtin, "linear algebra"},
    {"einsum", "einsum(equation: str, ...tensors: array)",
     "a sum of products in index notation: einsum(\"ij,jk->ik\", a, b) is a @ b", einsum_builtin, "linear algebra"},
};

}  // namespace

std::span<const Builtin> linear_algebra_builtins() { return kRows; }

}  // namespace tsl
