// Defines matrix products, and what a library computes of matrices.
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

/// Expands two batches of matrices to their common batch; none if there is no such batch.
std::optional<std::array<Operand, 2>> in_one_batch(Ops& ops, const Tensor& a, const Tensor& b) {
  const std::optional<Shape> batch = try_broadcast(batch_shape(a), batch_shape(b));
  if (!batch) return {};
  return {{expand(ops, a, with_batch(*batch, a)), expand(ops, b, with_batch(*batch, b))}};
}

Tensor prepare_matmul(Ops& ops, Op, Operands operands, const Attrs&) {
  const Tensor& a = operands[0].tensor;
  const Tensor& b = operands[1].tensor;
  check_product(a, b);
  const DType dtype = promote(a.dtype(), b.dtype());
  if (a.dtype() != dtype || b.dtype() != dtype) return matmul(ops, cast(ops, a, dtype), cast(ops, b, dtype));
  if (a.rank() == 1 || b.rank() == 1) return multiply_vectors(ops, a, b);
  if (a.rank() > 2 && b.rank() == 2) return multiply_rows(ops, a, b);
  if (same(batch_shape(a), batch_shape(b))) return {};
  const auto both = in_one_batch(ops, a, b);
  if (!both) fail(ErrorName::matmul_mismatch, "matmul: batch dimensions differ: {}", describe_product(a, b));
  return ops.call(Op::matmul, *both);
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

// ---- Factorisations -------------------------------------------------------------------------------------------------

constexpr int64_t kMostRows = 32'000;  // the workspace of eigh has 2 n² elements, which LAPACK counts in 32 bits

/// Fails unless x is a batch of square matrices of f32 or f64.
void check_square(const char* op, const Tensor& x) {
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    fail_with(ErrorName::wrong_dtype, fmt::format("{}: expected f32 or f64, got {}", op, describe(x)),
              {"`f32(x)` converts a tensor"});
  }
  const int rank = x.rank();
  if (rank < 2 || !(x.shape()[rank - 1] == x.shape()[rank - 2]))
    fail(ErrorName::not_square, "{}: expected square matrices, got {}", op, describe(x));
  if (x.shape()[rank - 1].hint() > kMostRows)
    fail(ErrorName::matrix_too_large, "{}: {} has more than {} rows", op, describe(x), kMostRows);
}

/// Describes the matrix of a batch that cannot be factorised.
Error unfit_matrix(ErrorName name, const char* op, int64_t matrix, const Layout& source, const char* what) {
  Error error;
  error.name = name;
  error.message = source.rank() > 2 ? fmt::format("{}: matrix {} of the batch {}", op, matrix, what)
                                    : fmt::format("{}: the matrix {}", op, what);
  return error;
}

constexpr OpFailure kNotPositive = {false, [](int64_t matrix, const Layout& source, const Attrs&) {
                                      return unfit_matrix(ErrorName::not_positive_definite, "cholesky", matrix, source,
                                                          "is not positive definite");
                                    }};
constexpr OpFailure kNotFinite = {false, [](int64_t matrix, const Layout& source, const Attrs&) {
                                    return unfit_matrix(ErrorName::not_finite, "eigh", matrix, source,
                                                        "has elements that are not finite");
                                  }};

constexpr OpTraits factorisation_traits(const OpFailure* failure, InputNeed needs) {
  OpTraits traits = unfused_traits(Category::factorisation, AxisUse::none, std::nullopt);
  traits.failure = failure;
  traits.needs = needs;
  return traits;
}

TensorType infer_cholesky(Operands operands, const Attrs&) {
  check_square("cholesky", operands[0].tensor);
  return {operands[0].tensor.dtype(), operands[0].tensor.shape()};
}

TensorType infer_eigenvalues(Operands operands, const Attrs&) {
  const Tensor& x = operands[0].tensor;
  check_square("eigh", x);
  Shape shape = x.shape();
  shape.erase(shape.rank() - 1);
  return {x.dtype(), shape};
}

TensorType infer_eigenvectors(Operands operands, const Attrs&, int) {
  return {operands[0].tensor.dtype(), operands[0].tensor.shape()};
}

Tensor prepare_solve(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor &a = operands[0].tensor, &b = operands[1].tensor;
  check_square("solve_triangular", a);
  const int rank = a.rank();
  if (b.dtype() != a.dtype())
    fail(ErrorName::wrong_dtype, "solve_triangular: the dtypes of {} and {} differ", describe(a), describe(b));
  if (b.rank() < 2 || !(b.shape()[b.rank() - 2] == a.shape()[rank - 1]))
    fail(ErrorName::matmul_mismatch, "solve_triangular: {} has no {} rows, as {} has", describe(b),
         a.shape()[rank - 1].hint(), describe(a));
  if (same(batch_shape(a), batch_shape(b))) return {};
  const auto both = in_one_batch(ops, a, b);
  if (!both)
    fail(ErrorName::shape_mismatch, "solve_triangular: the batches of {} and {} differ", describe(a), describe(b));
  return ops.call(op, *both, attrs);
}

TensorType infer_solution(Operands operands, const Attrs&) {
  return {operands[1].tensor.dtype(), operands[1].tensor.shape()};
}

// ---- Their derivatives ----------------------------------------------------------------------------------------------

/// Returns the indices of rows minus those of columns, for square matrices: [n, n].
Tensor diagonals(VjpCall& call, const Tensor& like) {
  const Dim n = like.shape()[like.rank() - 1];
  const Attrs count{.dtype = DType::i64, .count = n};
  const Tensor index = call.ops.call(Op::iota, {Scalar::of(int64_t{0}), Scalar::of(int64_t{1})}, count);
  return call.ops.call(Op::sub, {insert_axis(call.ops, index, 1), index});
}

Tensor where_not(VjpCall& call, Op test, const Tensor& index, const Tensor& x) {
  return call.ops.call(Op::where, {call.ops.call(test, {index, Scalar::of(int64_t{0})}), Scalar::of(0.0), x});
}

Tensor symmetric_half(VjpCall& call, const Tensor& x) {
  return ((var(call, x) + var(call, transpose(call.ops, x))) * 0.5).tensor();
}

Tensor solve(VjpCall& call, const Tensor& a, const Tensor& b, bool upper) {
  return call.ops.call(Op::solve_triangular, {a, b}, {.upper = upper});
}

/// With P = the lower triangle of Lᵀ Ḡ, its diagonal halved: Ā = L⁻ᵀ P L⁻¹, of which the symmetric part counts
/// (Murray, "Differentiation of the Cholesky decomposition", 2016).
void vjp_cholesky(VjpCall& call) {
  Ops& ops = call.ops;
  const Tensor& lower = call.output;
  const Tensor upper = transpose(ops, lower), index = diagonals(call, lower);
  const Tensor product = matmul(ops, upper, call.grad);
  const Tensor half = ops.call(
      Op::where, {ops.call(Op::eq, {index, Scalar::of(int64_t{0})}), (var(call, product) * 0.5).tensor(), product});
  const Tensor left = solve(call, upper, where_not(call, Op::lt, index, half), true);
  const Tensor both = transpose(ops, solve(call, upper, transpose(ops, left), true));
  call.grads[0] = symmetric_half(call, both);
}

/// Ā = V (diag(w̄) + F ∘ Vᵀ V̄) Vᵀ with F[i, j] = 1 / (w[j] - w[i]) beside the diagonal (Giles, "Collected matrix
/// derivative results", 2008): infinite or NaN for vectors of equal values, which are not determined.
void vjp_eigh(VjpCall& call) {
  Ops& ops = call.ops;
  const Tensor &values = call.results[0], &vectors = call.results[1];
  const Tensor turned = transpose(ops, vectors), index = diagonals(call, vectors);
  const Tensor on_diagonal = ops.call(Op::eq, {index, Scalar::of(int64_t{0})});
  Tensor middle;
  if (call.result_grads[0]) {
    const Tensor rows = insert_axis(ops, call.result_grads[0], values.rank());
    middle = ops.call(Op::where, {on_diagonal, rows, Scalar::of(0.0)});
  }
  if (call.result_grads[1]) {
    const Tensor gaps =
        ops.call(Op::sub, {insert_axis(ops, values, values.rank() - 1), insert_axis(ops, values, values.rank())});
    const Tensor apart = ops.call(Op::where, {on_diagonal, Scalar::of(1.0), gaps});
    const Tensor turning = ops.call(Op::div, {matmul(ops, turned, call.result_grads[1]), apart});
    const Tensor beside = ops.call(Op::where, {on_diagonal, Scalar::of(0.0), turning});
    middle = middle ? ops.call(Op::add, {middle, beside}) : beside;
  }
  call.grads[0] = symmetric_half(call, matmul(ops, matmul(ops, vectors, middle), turned));
}

/// x = a⁻¹ b: b̄ = a⁻ᵀ x̄, and ā = -b̄ xᵀ where a has its triangle.
void vjp_solve(VjpCall& call) {
  Ops& ops = call.ops;
  const bool upper = call.attrs.upper;
  const Tensor of_b = solve(call, transpose(ops, call.inputs[0].tensor), call.grad, !upper);
  if (call.needed[1]) call.grads[1] = of_b;
  if (!call.needed[0]) return;
  const Tensor product = matmul(ops, of_b, transpose(ops, call.output));
  const Tensor negative = ops.call(Op::neg, {product});
  call.grads[0] = where_not(call, upper ? Op::gt : Op::lt, diagonals(call, product), negative);
}

}  // namespace

void add_linear_algebra(Table& table) {
  table.add({.op = Op::cholesky,
             .name = "cholesky",
             .signature = "cholesky(x)",
             .doc = "the lower triangular matrix L with L @ L.T = x, for positive definite matrices",
             .traits = factorisation_traits(&kNotPositive, InputNeed::positive),
             .arity = 1,
             .infer = infer_cholesky,
             .vjp = vjp_cholesky});
  table.add({.op = Op::eigh,
             .name = "eigh",
             .signature = "eigh(x)",
             .doc = "the eigenvalues of symmetric matrices in ascending order, and their eigenvectors in columns",
             .traits = factorisation_traits(&kNotFinite, InputNeed::nothing),
             .arity = 1,
             .infer = infer_eigenvalues,
             .results = 2,
             .infer_other = infer_eigenvectors,
             .vjp = vjp_eigh});
  table.add({.op = Op::solve_triangular,
             .name = "solve_triangular",
             .signature = "solve_triangular(a, b, upper: false)",
             .doc = "x with a @ x = b, for matrices a of which the lower or the upper triangle is read",
             .traits = factorisation_traits(nullptr, InputNeed::nothing),
             .arity = 2,
             .prepare = prepare_solve,
             .infer = infer_solution,
             .vjp = vjp_solve});
  table.add({.op = Op::matmul,
             .name = "matmul",
             .signature = "matmul(a, b)",
             .doc = "the matrix product a @ b, over leading axes as batches",
             .traits = unfused_traits(Category::matmul, AxisUse::none, 1.0),
             .arity = 2,
             .prepare = prepare_matmul,
             .infer = infer_matmul,
             .vjp = vjp_matmul,
             .batch = batch_matmul});
}

}  // namespace tsl::rows
