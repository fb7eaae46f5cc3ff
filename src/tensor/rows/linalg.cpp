// Defines matrix products, and what a library computes of matrices.
#include "base/error_names.h"
#include "tensor/rows/matrices.h"

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

/// Whether the matrices of an operand are stored in columns, as those of a transposed view.
bool is_in_columns(const Tensor& x) {
  const auto& strides = x.layout().strides;
  const int rank = x.rank();
  return !strides[rank - 1].same(1) && strides[rank - 2] == 1 && !(strides[rank - 1] == 1);
}

/// Returns a @ b, the gradient of `of`, stored in columns where that is: the gradient of the matrix of which it is a
/// view then lies in rows.
Tensor product_like(Ops& ops, const Tensor& of, const Tensor& a, const Tensor& b) {
  if (!is_in_columns(of)) return matmul(ops, a, b);
  return transpose(ops, matmul(ops, transpose(ops, b), transpose(ops, a)));
}

void vjp_matmul(VjpCall& call) {
  const Tensor& a = call.inputs[0].tensor;
  const Tensor& b = call.inputs[1].tensor;
  if (call.needed[0]) call.grads[0] = product_like(call.ops, a, call.grad, transpose(call.ops, b));
  if (call.needed[1]) call.grads[1] = product_like(call.ops, b, transpose(call.ops, a), call.grad);
}

// ---- Factorisations -------------------------------------------------------------------------------------------------

constexpr OpFailure kNotPositive = {false, [](int64_t matrix, const Layout& source, const Attrs& attrs) {
                                      return unfit_matrix(ErrorName::not_positive_definite, "cholesky", matrix, source,
                                                          attrs, "is not positive definite");
                                    }};
constexpr OpFailure kSingular = {false, [](int64_t matrix, const Layout& source, const Attrs& attrs) {
                                   return unfit_matrix(ErrorName::singular_matrix, "solve", matrix, source, attrs,
                                                       "is singular");
                                 }};
constexpr OpFailure kEighNotFinite = {false, [](int64_t matrix, const Layout& source, const Attrs& attrs) {
                                        return unfit_matrix(ErrorName::not_finite, "eigh", matrix, source, attrs,
                                                            kIsNotFinite);
                                      }};
constexpr OpFailure kSvdNotFinite = {false, [](int64_t matrix, const Layout& source, const Attrs& attrs) {
                                       return unfit_matrix(ErrorName::not_finite, "svd", matrix, source, attrs,
                                                           kIsNotFinite);
                                     }};

TensorType infer_cholesky(Operands operands, const Attrs&) {
  check_square("cholesky", operands[0].tensor);
  return {operands[0].tensor.dtype(), operands[0].tensor.shape()};
}

TensorType infer_eigenvalues(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  Shape shape = check_square("eigh", x, attrs);
  shape.erase(shape.rank() - 1);
  return {x.dtype(), shape};
}

TensorType infer_eigenvectors(Operands operands, const Attrs&, int) {
  return {operands[0].tensor.dtype(), operands[0].tensor.shape()};
}

Tensor prepare_solve(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor &a = operands[0].tensor, &b = operands[1].tensor;
  const char* const name = op == Op::solve ? "solve" : "solve_triangular";
  check_square(name, a);
  const int rank = a.rank();
  if (b.dtype() != a.dtype())
    fail(ErrorName::wrong_dtype, "{}: the dtypes of {} and {} differ", name, describe(a), describe(b));
  if (b.rank() < 2 || !(b.shape()[b.rank() - 2] == a.shape()[rank - 1]))
    fail(ErrorName::matmul_mismatch, "{}: {} has no {} rows, as {} has", name, describe(b), a.shape()[rank - 1].hint(),
         describe(a));
  if (same(batch_shape(a), batch_shape(b))) return {};
  const auto both = in_one_batch(ops, a, b);
  if (!both) fail(ErrorName::shape_mismatch, "{}: the batches of {} and {} differ", name, describe(a), describe(b));
  return ops.call(op, *both, attrs);
}

TensorType infer_solution(Operands operands, const Attrs&) {
  return {operands[1].tensor.dtype(), operands[1].tensor.shape()};
}

// ---- Factorisations of general matrices -----------------------------------------------------------------------------

/// The extents of matrices [m, n]; k is the lesser.
struct Extents {
  Dim m, n, k;
  explicit Extents(const Shape& x) : m(x[x.rank() - 2]), n(x[x.rank() - 1]), k(m < n ? m : n) {}
  explicit Extents(const Tensor& x, const Attrs& attrs = {})
      : Extents(attrs.pairs ? Shape(std::span<const Dim>(x.shape().begin(), static_cast<size_t>(x.rank() - 1)))
                            : x.shape()) {}
};

/// Returns the batch of x, which holds matrices of numbers or of pairs.
Shape batch_of(const Tensor& x, const Attrs& attrs) {
  const int axes = attrs.pairs ? 3 : 2;
  return Shape(std::span<const Dim>(x.shape().begin(), static_cast<size_t>(x.rank() - axes)));
}

/// Returns the type of matrices of rows × columns in the batch of x.
TensorType matrices_like(const Tensor& x, Dim rows, Dim columns, const Attrs& attrs = {}) {
  Shape shape = batch_of(x, attrs);
  shape.push_back(rows);
  shape.push_back(columns);
  return {x.dtype(), with_pairs(shape, attrs)};
}

/// Returns the type of vectors in the batch of x.
TensorType vectors_like(const Tensor& x, DType dtype, Dim extent, const Attrs& attrs) {
  Shape shape = batch_of(x, attrs);
  shape.push_back(extent);
  return {dtype, shape};
}

TensorType infer_q(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  const Extents extents(matrix_shape("qr", x, attrs, kMostRows));
  return matrices_like(x, extents.m, attrs.complete ? extents.m : extents.k, attrs);
}

TensorType infer_r(Operands operands, const Attrs& attrs, int) {
  const Tensor& x = operands[0].tensor;
  const Extents extents(x, attrs);
  return matrices_like(x, attrs.complete ? extents.m : extents.k, extents.n, attrs);
}

TensorType infer_left_vectors(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  const Extents extents(matrix_shape("svd", x, attrs, kMostOfSvd));
  return matrices_like(x, extents.m, attrs.complete ? extents.m : extents.k, attrs);
}

TensorType infer_singular_values(Operands operands, const Attrs& attrs, int result) {
  const Tensor& x = operands[0].tensor;
  const Extents extents(x, attrs);
  if (result == 1) return vectors_like(x, x.dtype(), extents.k, attrs);
  return matrices_like(x, attrs.complete ? extents.n : extents.k, extents.n, attrs);
}

TensorType infer_lu(Operands operands, const Attrs& attrs) {
  matrix_shape("lu_factor", operands[0].tensor, attrs, kMostRows);
  return {operands[0].tensor.dtype(), operands[0].tensor.shape()};
}

TensorType infer_row_order(Operands operands, const Attrs& attrs, int result) {
  const Tensor& x = operands[0].tensor;
  const Extents extents(x, attrs);
  return vectors_like(x, DType::i64, result == 1 ? extents.k : extents.m, attrs);
}

// ---- Derivatives of symmetric and triangular matrices -------------------------------------------------------------

/// Returns the indices of rows minus those of columns, for square matrices: [n, n].
Tensor diagonals(VjpCall& call, Dim n) {
  const Attrs count{.dtype = DType::i64, .count = n};
  const Tensor index = call.ops.call(Op::iota, {Scalar::of(int64_t{0}), Scalar::of(int64_t{1})}, count);
  return call.ops.call(Op::sub, {insert_axis(call.ops, index, 1), insert_axis(call.ops, index, 0)});
}

Tensor diagonals(VjpCall& call, const Tensor& like) { return diagonals(call, like.shape()[like.rank() - 1]); }

Tensor where_not(VjpCall& call, Op test, const Tensor& index, const Tensor& x) {
  return call.ops.call(Op::where, {call.ops.call(test, {index, Scalar::of(int64_t{0})}), Scalar::of(0.0), x});
}

Tensor symmetric_half(VjpCall& call, const Tensor& x) {
  return ((var(call, x) + var(call, transpose(call.ops, x))) * 0.5).tensor();
}

Tensor solve_triangle(VjpCall& call, const Tensor& a, const Tensor& b, bool upper) {
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
  const Tensor left = solve_triangle(call, upper, where_not(call, Op::lt, index, half), true);
  const Tensor both = transpose(ops, solve_triangle(call, upper, transpose(ops, left), true));
  call.grads[0] = symmetric_half(call, both);
}

/// Fails for matrices of pairs, whose derivatives the standard library has.
void check_no_pairs(const char* op, const Attrs& attrs) {
  if (attrs.pairs) {
    fail(ErrorName::not_differentiable, "{}: matrices of pairs have no derivative; those of complex tensors have one",
         op);
  }
}

/// Ā = V (diag(w̄) + F ∘ Vᵀ V̄) Vᵀ with F[i, j] = 1 / (w[j] - w[i]) beside the diagonal (Giles, "Collected matrix
/// derivative results", 2008): infinite or NaN for vectors of equal values, which are not determined.
void vjp_eigh(VjpCall& call) {
  check_no_pairs("eigh", call.attrs);
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
void vjp_solve_triangular(VjpCall& call) {
  Ops& ops = call.ops;
  const bool upper = call.attrs.upper;
  const Tensor of_b = solve_triangle(call, transpose(ops, call.inputs[0].tensor), call.grad, !upper);
  if (call.needed[1]) call.grads[1] = of_b;
  if (!call.needed[0]) return;
  const Tensor product = matmul(ops, of_b, transpose(ops, call.output));
  const Tensor negative = ops.call(Op::neg, {product});
  call.grads[0] = where_not(call, upper ? Op::gt : Op::lt, diagonals(call, product), negative);
}

/// x = a⁻¹ b: b̄ = a⁻ᵀ x̄, and ā = -b̄ xᵀ.
void vjp_solve(VjpCall& call) {
  Ops& ops = call.ops;
  const Tensor of_b = ops.call(Op::solve, {transpose(ops, call.inputs[0].tensor), call.grad});
  if (call.needed[1]) call.grads[1] = of_b;
  if (call.needed[0]) call.grads[0] = ops.call(Op::neg, {matmul(ops, of_b, transpose(ops, call.output))});
}

// ---- Derivatives of general factorisations --------------------------------------------------------------------------

Tensor add(Ops& ops, const Tensor& a, const Tensor& b) { return a && b ? ops.call(Op::add, {a, b}) : a ? a : b; }

Tensor rows_of(Ops& ops, const Tensor& x, Dim start, Dim count) { return slice(ops, x, x.rank() - 2, start, count); }
Tensor columns_of(Ops& ops, const Tensor& x, Dim start, Dim count) { return slice(ops, x, x.rank() - 1, start, count); }

[[noreturn]] void fail_complete(const char* op) {
  fail_with(ErrorName::not_differentiable,
            fmt::format("{}: vectors that complete a basis are not determined, and have no derivative", op),
            {"the factors that have one are those of the reduced form"});
}

/// Of square or tall matrices, with M = R R̄ᵀ - Q̄ᵀ Q, and S the symmetric matrix with the lower triangle of M:
/// Ā = (Q̄ + Q S) R⁻ᵀ (Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2010).
Tensor tall_qr_gradient(VjpCall& call, const Tensor& r, const Tensor& of_q, const Tensor& of_r) {
  Ops& ops = call.ops;
  const Tensor& q = call.results[0];
  Tensor middle;
  if (of_r) middle = matmul(ops, r, transpose(ops, of_r));
  if (of_q) middle = add(ops, middle, ops.call(Op::neg, {matmul(ops, transpose(ops, of_q), q)}));
  const Tensor index = diagonals(call, r), lower = where_not(call, Op::lt, index, middle);
  const Tensor above = transpose(ops, where_not(call, Op::le, index, middle));
  const Tensor left = add(ops, matmul(ops, q, ops.call(Op::add, {lower, above})), of_q);
  return transpose(ops, solve_triangle(call, r, transpose(ops, left), true));
}

/// Of wide matrices A = [X, Y] the factors are Q and [U, Qᵀ Y], where Q and U are those of X.
void vjp_qr(VjpCall& call) {
  check_no_pairs("qr", call.attrs);
  Ops& ops = call.ops;
  const Tensor &q = call.results[0], &r = call.results[1], &of_q = call.result_grads[0], &of_r = call.result_grads[1];
  const Extents extents(call.inputs[0].tensor);
  if (call.attrs.complete && extents.n < extents.m) fail_complete("qr");
  if (!(extents.m < extents.n)) {
    call.grads[0] = tall_qr_gradient(call, r, of_q, of_r);
    return;
  }
  const Dim more = extents.n - extents.m;
  const Tensor square = columns_of(ops, r, 0, extents.m);
  if (!of_r) {
    const Tensor of_x = tall_qr_gradient(call, square, of_q, {});
    call.grads[0] = ops.call(Op::concat, {of_x, zeros(ops, matrices_like(q, extents.m, more).shape, q.dtype())},
                             {.axis = q.rank() - 1});
    return;
  }
  const Tensor of_rest = columns_of(ops, of_r, extents.m, more);
  const Tensor rest = columns_of(ops, call.inputs[0].tensor, extents.m, more);
  const Tensor turned = add(ops, matmul(ops, rest, transpose(ops, of_rest)), of_q);
  const Tensor of_x = tall_qr_gradient(call, square, turned, columns_of(ops, of_r, 0, extents.m));
  call.grads[0] = ops.call(Op::concat, {of_x, matmul(ops, q, of_rest)}, {.axis = q.rank() - 1});
}

/// Returns (Xᵀ X̄ - X̄ᵀ X) / E with E[i, j] = s[j]² - s[i]² beside the diagonal, where it is 0.
Tensor turning(VjpCall& call, const Tensor& x, const Tensor& grad) {
  Ops& ops = call.ops;
  const Tensor& s = call.results[1];
  const Tensor product = matmul(ops, transpose(ops, x), grad);
  const diff::Var columns = var(call, insert_axis(ops, s, s.rank() - 1)),
                  rows = var(call, insert_axis(ops, s, s.rank()));
  const Tensor gaps = ((columns - rows) * (columns + rows)).tensor();
  const Tensor on_diagonal = ops.call(Op::eq, {diagonals(call, product), Scalar::of(int64_t{0})});
  const Tensor skew = (var(call, product) - var(call, transpose(ops, product))).tensor();
  return ops.call(Op::div, {skew, ops.call(Op::where, {on_diagonal, Scalar::of(1.0), gaps})});
}

/// Returns what a gradient of vectors x adds beside their space: (X̄ - X (Xᵀ X̄)) S⁻¹.
Tensor beside_space(VjpCall& call, const Tensor& x, const Tensor& grad) {
  Ops& ops = call.ops;
  const Tensor within = matmul(ops, x, matmul(ops, transpose(ops, x), grad));
  const Tensor& s = call.results[1];
  return ((var(call, grad) - var(call, within)) / var(call, insert_axis(ops, s, s.rank() - 1))).tensor();
}

/// Ā = U (diag(s̄) + turning(U) S + S turning(V)) Vᵀ, and what is beside the spaces of U and V (Townsend,
/// "Differentiating the singular value decomposition", 2016): infinite or NaN for vectors of equal values.
void vjp_svd(VjpCall& call) {
  check_no_pairs("svd", call.attrs);
  Ops& ops = call.ops;
  const Tensor& x = call.inputs[0].tensor;
  const Tensor &of_u = call.result_grads[0], &of_s = call.result_grads[1];
  const Extents extents(x);
  const bool has_more = call.attrs.complete && !(extents.m == extents.n);
  if (has_more && (of_u || call.result_grads[2])) fail_complete("svd");
  const Results reduced = has_more ? ops.call_many(Op::svd, {x}) : Results();
  const Tensor &u = has_more ? reduced[0] : call.results[0], &s = call.results[1],
               &vh = has_more ? reduced[2] : call.results[2];
  const Tensor of_v = call.result_grads[2] ? transpose(ops, call.result_grads[2]) : Tensor();
  const Tensor values = insert_axis(ops, s, s.rank() - 1);
  Tensor middle;
  if (of_s) {
    const Tensor on_diagonal = ops.call(Op::eq, {diagonals(call, u.shape()[u.rank() - 1]), Scalar::of(int64_t{0})});
    middle = ops.call(Op::where, {on_diagonal, insert_axis(ops, of_s, s.rank()), Scalar::of(0.0)});
  }
  if (of_u) middle = add(ops, middle, ops.call(Op::mul, {turning(call, u, of_u), values}));
  if (of_v) {
    const Tensor scaled = ops.call(Op::mul, {insert_axis(ops, s, s.rank()), turning(call, transpose(ops, vh), of_v)});
    middle = add(ops, middle, scaled);
  }
  Tensor of_x = matmul(ops, matmul(ops, u, middle), vh);
  if (of_u && extents.n < extents.m) of_x = add(ops, of_x, matmul(ops, beside_space(call, u, of_u), vh));
  if (of_v && extents.m < extents.n) {
    const Tensor beside = beside_space(call, transpose(ops, vh), of_v);
    of_x = add(ops, of_x, matmul(ops, u, transpose(ops, beside)));
  }
  call.grads[0] = of_x;
}

/// Of the rows in order, X = L U, with Ḡ the gradient of both factors: X̄ = L⁻ᵀ (tril(Lᵀ L̄, -1) + triu(Ū Uᵀ)) U⁻ᵀ. The
/// rows below a square are L = X U⁻¹, and the columns beside it U = L⁻¹ X.
void vjp_lu(VjpCall& call) {
  check_no_pairs("lu_factor", call.attrs);
  Ops& ops = call.ops;
  const Tensor &factors = call.results[0], &grad = call.result_grads[0];
  const Extents extents(factors);
  const auto corner = [&](const Tensor& x) { return columns_of(ops, rows_of(ops, x, 0, extents.k), 0, extents.k); };
  const auto solve_right = [&](const Tensor& x, const Tensor& upper) {  // x U⁻ᵀ
    return transpose(ops, solve_triangle(call, upper, transpose(ops, x), true));
  };
  const Tensor both = corner(factors), index = diagonals(call, both);
  const Tensor on_diagonal = ops.call(Op::eq, {index, Scalar::of(int64_t{0})});
  const Tensor lower = ops.call(Op::where, {on_diagonal, Scalar::of(1.0), where_not(call, Op::lt, index, both)});
  const Tensor upper = where_not(call, Op::lt, transpose(ops, index), both);
  Tensor of_lower = where_not(call, Op::le, index, corner(grad));
  Tensor of_upper = where_not(call, Op::lt, transpose(ops, index), corner(grad));
  Tensor rest;
  if (extents.n < extents.m) {
    const Dim more = extents.m - extents.k;
    rest = solve_right(rows_of(ops, grad, extents.k, more), upper);
    const Tensor below = rows_of(ops, factors, extents.k, more);
    of_upper = ops.call(Op::sub, {of_upper, matmul(ops, transpose(ops, below), rest)});
  } else if (extents.m < extents.n) {
    const Dim more = extents.n - extents.k;
    rest = solve_triangle(call, transpose(ops, lower), columns_of(ops, grad, extents.k, more), true);
    const Tensor beside = columns_of(ops, factors, extents.k, more);
    of_lower = ops.call(Op::sub, {of_lower, matmul(ops, rest, transpose(ops, beside))});
  }
  const Tensor below = where_not(call, Op::le, index, matmul(ops, transpose(ops, lower), of_lower));
  const Tensor above = where_not(call, Op::lt, transpose(ops, index), matmul(ops, of_upper, transpose(ops, upper)));
  Tensor of_x =
      solve_right(solve_triangle(call, transpose(ops, lower), ops.call(Op::add, {below, above}), true), upper);
  if (rest) {
    const int axis = extents.n < extents.m ? factors.rank() - 2 : factors.rank() - 1;
    of_x = ops.call(Op::concat, {of_x, rest}, {.axis = axis});
  }
  call.grads[0] = ops.call(Op::scatter_add, {zeros(ops, factors.shape(), factors.dtype()), call.results[2], of_x},
                           {.batch = factors.rank() - 2});
}

void add_general_factorisations(Table& table) {
  table.add({.op = Op::qr,
             .name = "qr",
             .signature = "qr(x)",
             .doc = "matrices q with orthonormal columns and r, upper triangular, with q @ r = x",
             .traits = factorisation_traits(nullptr, InputNeed::nothing),
             .arity = 1,
             .infer = infer_q,
             .results = 2,
             .infer_other = infer_r,
             .vjp = vjp_qr});
  table.add({.op = Op::svd,
             .name = "svd",
             .signature = "svd(x)",
             .doc = "u, s and vh with (u * s) @ vh = x: the singular values in descending order, and their vectors",
             .traits = factorisation_traits(&kSvdNotFinite, InputNeed::nothing),
             .arity = 1,
             .infer = infer_left_vectors,
             .results = 3,
             .infer_other = infer_singular_values,
             .vjp = vjp_svd});
  table.add(
      {.op = Op::lu,
       .name = "lu",
       .signature = "lu_factor(x)",
       .doc = "lower and upper triangular factors of the rows of x in another order, in one matrix, and that order",
       .traits = factorisation_traits(nullptr, InputNeed::nothing),
       .arity = 1,
       .infer = infer_lu,
       .results = 3,
       .infer_other = infer_row_order,
       .vjp = vjp_lu});
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
             .traits = factorisation_traits(&kEighNotFinite, InputNeed::nothing),
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
             .vjp = vjp_solve_triangular});
  table.add({.op = Op::solve,
             .name = "solve",
             .signature = "solve(a, b)",
             .doc = "x with a @ x = b, for square matrices a",
             .traits = factorisation_traits(&kSingular, InputNeed::nothing),
             .arity = 2,
             .prepare = prepare_solve,
             .infer = infer_solution,
             .vjp = vjp_solve});
  add_general_factorisations(table);
  table.add(
      {.op = Op::matmul,
       .name = "matmul",
       .signature = "matmul(a, b)",
       .doc = "the matrix product a @ b, over leading axes as batches",
       .traits = unfused_traits(Category::matmul, AxisUse::none, 1.0, FlopsOf::product, Allocates::unless_of_floats),
       .arity = 2,
       .prepare = prepare_matmul,
       .infer = infer_matmul,
       .vjp = vjp_matmul,
       .batch = batch_matmul});
}

}  // namespace tsl::rows
